/* MishGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

/* tanh(softplus(x)) = n / (n + 2) with n = eˣ(eˣ + 2); from 20 on it is 1. */
static inline float mish_slope(float x) {
    float bounded = x > 20 ? 20 : x;
    float e = ons_exp(bounded);
    float n = e * (e + 2);
    float inverse = 1 / (n + 2);
    return n * inverse + bounded * (4 * e) * ((1 + e) * inverse * inverse);
}

ONS_BINARY_FLOAT_KERNEL(mish_gradient, a *mish_slope(b))

ONS_KERNELS(cpu, mish_gradient, ONS_KERNEL(mish_gradient_prepare, ons_broadcast_run))
