/* Mish on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

/* tanh(softplus(x)) = n / (n + 2) with n = eˣ(eˣ + 2); from 20 on it is 1. */
static inline float mish_of(float x) {
    float e = ons_exp(x > 20 ? 20 : x);
    float n = e * (e + 2);
    return x * (n / (n + 2));
}

ONS_UNARY_FLOAT_KERNEL(mish, mish_of(x))

ONS_KERNELS(cpu, mish, ONS_KERNEL(ons_unary_prepare, mish_run))
