/* Gradient of HardSigmoid: from cotangent a and output b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_BINARY_FLOAT_FUNCTIONS(hard_sigmoid_gradient, b > 0 && b < 1 ? a * ons_attribute_float(o, 0) : 0,
                           ((b > 0) & (b < 1)) ? a * parameters[0] : 0)

static ons_status *hard_sigmoid_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(hard_sigmoid_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

static const ons_case hard_sigmoid_gradient_cases[] = {
    ONS_PAIR_CASES(-0.2, 1.2, 2e-6),
    {.name = "sixths",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-0.2, 1.2, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.0 / 6)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};

ONS_DEFINE_OPERATOR(hard_sigmoid_gradient, "HardSigmoidGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.2), ONS_FLOAT_ATTRIBUTE("beta", 0.5)),
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(hard_sigmoid_gradient_reference),
                    ONS_CPU_KERNEL(hard_sigmoid_gradient_prepare_attributes, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_hard_sigmoid_gradient),
                    hard_sigmoid_gradient_cases);
