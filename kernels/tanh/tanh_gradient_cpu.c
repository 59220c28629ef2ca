/* TanhGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(tanh_gradient, a *(1 - b * b))

ONS_KERNELS(cpu, tanh_gradient, ONS_KERNEL(tanh_gradient_prepare, ons_broadcast_run))
