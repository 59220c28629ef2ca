/* SeluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(selu_gradient, b > 0 ? a * parameters[1] : a * (b + parameters[0] * parameters[1]))

ONS_KERNELS(cpu, selu_gradient, ONS_KERNEL(selu_gradient_prepare, ons_broadcast_run))
