/* Gradient of Mish: from cotangent a and input b. */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/vector_math.h"

/* tanh(softplus(x)) = n / (n + 2) with n = eˣ(eˣ + 2); from 20 on it is 1. */
static inline float mish_slope(float x) {
    float bounded = x > 20 ? 20 : x;
    float e = ons_exp(bounded);
    float n = e * (e + 2);
    float inverse = 1 / (n + 2);
    return n * inverse + bounded * (4 * e) * ((1 + e) * inverse * inverse);
}

static double mish_slope_of(double x) {
    double t = tanh(fmax(x, 0) + log1p(exp(-fabs(x))));
    return t + x * (1 - t * t) / (1 + exp(-x));
}

ONS_BINARY_FLOAT_REFERENCE(mish_gradient, a *mish_slope_of(b))

ONS_BINARY_FLOAT_KERNEL(mish_gradient, a *mish_slope(b))

static const ons_case mish_gradient_cases[] = {
    ONS_PAIR_CASES(-6, 6, 2e-6),
    {.name = "far", .inputs = {ONS_F32(7, 9), ONS_F32_IN(-80, 80, 7, 9)}, .tolerance = 2e-6, .flops = 63},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(mish_gradient, "MishGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_floats), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mish_gradient_reference), ONS_CPU_KERNEL(mish_gradient_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(ons_cuda_float_prepare, ons_cuda_mish_gradient), mish_gradient_cases);
