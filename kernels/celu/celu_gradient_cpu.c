/* CeluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(celu_gradient, b > 0 ? a : a * (b / parameters[0] + 1))

ONS_KERNELS(cpu, celu_gradient, ONS_KERNEL(celu_gradient_prepare, ons_broadcast_run))
