/* ReluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(relu_gradient, b > 0 ? a : 0)

ONS_KERNELS(cpu, relu_gradient, ONS_KERNEL(relu_gradient_prepare, ons_broadcast_run))
