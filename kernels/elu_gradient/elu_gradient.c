/* Gradient of Elu: from cotangent a and input b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/vector_math.h"

ONS_BINARY_FLOAT_REFERENCE(elu_gradient, b > 0 ? a : a * ons_attribute_float(o, 0) * exp(b))

ONS_BINARY_FLOAT_KERNEL(elu_gradient, b > 0 ? a : a * parameters[0] * ons_exp(b < 0 ? b : 0))

static ons_status *elu_gradient_prepare_alpha(ons_prepare *p) {
    ONS_TRY(elu_gradient_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = (float)ons_attribute_float(p->operands, 0);
    return NULL;
}

static const ons_case elu_gradient_cases[] = {
    ONS_PAIR_CASES(-3, 3, 1e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(9, 9), ONS_F32(9, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.3)},
     .tolerance = 1e-6,
     .flops = 81},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(elu_gradient, "EluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(ons_infer_broadcast_floats),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(elu_gradient_reference),
                    ONS_CPU_KERNEL(elu_gradient_prepare_alpha, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_elu_gradient), elu_gradient_cases);
