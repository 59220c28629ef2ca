/* PReluSlopeGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(prelu_slope_gradient, b < 0 ? a * b : 0)

ONS_KERNELS(cpu, prelu_slope_gradient, ONS_KERNEL(prelu_slope_gradient_prepare, ons_broadcast_run))
