/* Gradient of Swish: from cotangent a and input b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/vector_math.h"

static inline float swish_slope(float x, float alpha) {
    float s = ons_sigmoid(alpha * x);
    return s + s * (1 - s) * (alpha * x);
}

static double swish_slope_of(double x, double alpha) {
    double s = 1 / (1 + exp(-alpha * x));
    return s + alpha * x * s * (1 - s);
}

ONS_BINARY_FLOAT_REFERENCE(swish_gradient, a *swish_slope_of(b, ons_attribute_float(o, 0)))

ONS_BINARY_FLOAT_KERNEL(swish_gradient, a *swish_slope(b, parameters[0]))

static ons_status *swish_gradient_prepare_attributes(ons_prepare *p) {
    ONS_TRY(swish_gradient_prepare(p));
    return ons_broadcast_take_attributes(p);
}

static const ons_case swish_gradient_cases[] = {
    ONS_PAIR_CASES(-6, 6, 2e-6),
    {.name = "alpha",
     .inputs = {ONS_F32(7, 9), ONS_F32_IN(-9, 9, 7, 9)},
     .settings = {ONS_SET_FLOAT("alpha", 1.702)},
     .tolerance = 2e-6,
     .flops = 63},

    {.name = NULL},
};

ONS_DEFINE_OPERATOR(swish_gradient, "SwishGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1.0)), ONS_INFER(ons_infer_broadcast_floats),
                    ONS_COST(ons_cost_elementwise), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(swish_gradient_reference),
                    ONS_CPU_KERNEL(swish_gradient_prepare_attributes, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_swish_gradient), swish_gradient_cases);
