/* LeakyReluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(leaky_relu_gradient, b > 0 ? a : parameters[0] * a)

ONS_KERNELS(cpu, leaky_relu_gradient, ONS_KERNEL(leaky_relu_gradient_prepare, ons_broadcast_run))
