/* Gradient of Selu: from cotangent a and output b, which is the exponential but for what was taken away. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"

ONS_BINARY_FLOAT_REFERENCE(selu_gradient, b > 0 ? a * ons_attribute_float(o, 1)
                                 : a * (b + ons_attribute_float(o, 0) * ons_attribute_float(o, 1)))

ONS_BINARY_FLOAT_KERNEL(selu_gradient, b > 0 ? a * parameters[1] : a * (b + parameters[0] * parameters[1]))

static ons_status *selu_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(selu_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

static const ons_case selu_gradient_cases[] = {
    ONS_PAIR_CASES(-1.5, 3, 2e-6),
    {.name = "other",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-1.4, 2, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 0.7), ONS_SET_FLOAT("gamma", 2.0)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};

ONS_DEFINE_OPERATOR(selu_gradient, "SeluGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.67326319217681884765625),
                                   ONS_FLOAT_ATTRIBUTE("gamma", 1.05070102214813232421875)),
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(selu_gradient_reference),
                    ONS_CPU_KERNEL(selu_gradient_prepare_attributes, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_selu_gradient), selu_gradient_cases);
