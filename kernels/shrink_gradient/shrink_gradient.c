/* Gradient of Shrink: from cotangent a and input b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_BINARY_FLOAT_FUNCTIONS(shrink_gradient, b<-ons_attribute_float(o, 0) || b> ons_attribute_float(o, 0) ? a : 0,
                           ((b < -parameters[0]) | (b > parameters[0])) ? a : 0)

static ons_status *shrink_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(shrink_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

static const ons_case shrink_gradient_cases[] = {
    ONS_PAIR_CASES(-3, 3, 0),
    {.name = "wide",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-3, 3, 7, 9)},
     .settings = {ONS_SET_FLOAT("lambd", 1.5), ONS_SET_FLOAT("bias", 1.5)},
     .tolerance = 0,
     .flops = 63},

    {.name = NULL},
};

ONS_DEFINE_OPERATOR(shrink_gradient, "ShrinkGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("lambd", 0.5), ONS_FLOAT_ATTRIBUTE("bias", 0.0)),
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(shrink_gradient_reference),
                    ONS_CPU_KERNEL(shrink_gradient_prepare_attributes, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_shrink_gradient), shrink_gradient_cases);
