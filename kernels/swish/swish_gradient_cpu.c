/* SwishGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

static inline float swish_slope(float x, float alpha) {
    float s = ons_sigmoid(alpha * x);
    return s + s * (1 - s) * (alpha * x);
}

ONS_BINARY_FLOAT_KERNEL(swish_gradient, a *swish_slope(b, parameters[0]))

ONS_KERNELS(cpu, swish_gradient, ONS_KERNEL(swish_gradient_prepare, ons_broadcast_run))
