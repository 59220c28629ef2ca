/* HardSwishGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_FLOAT_KERNEL(hard_swish_gradient, b <= -3 ? 0 : b < 3 ? a * (b * (1.0f / 3) + 0.5f) : a)

ONS_KERNELS(cpu, hard_swish_gradient, ONS_KERNEL(hard_swish_gradient_prepare, ons_broadcast_run))
