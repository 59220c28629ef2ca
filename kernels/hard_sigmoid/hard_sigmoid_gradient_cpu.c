/* HardSigmoidGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(hard_sigmoid_gradient, ((b > 0) & (b < 1)) ? a *parameters[0] : 0)

ONS_KERNELS(cpu, hard_sigmoid_gradient, ONS_KERNEL(hard_sigmoid_gradient_prepare, ons_broadcast_run))
