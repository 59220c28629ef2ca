/* SigmoidGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(sigmoid_gradient, a *(b *(1 - b)))

ONS_KERNELS(cpu, sigmoid_gradient, ONS_KERNEL(sigmoid_gradient_prepare, ons_broadcast_run))
