/* ShrinkGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(shrink_gradient, ((b < -parameters[0]) | (b > parameters[0])) ? a : 0)

ONS_KERNELS(cpu, shrink_gradient, ONS_KERNEL(shrink_gradient_prepare, ons_broadcast_run))
