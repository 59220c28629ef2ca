/* PRelu on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_KERNELS(prelu, a < 0 ? ons_wrapping_multiply(b, a) : a, a < 0 ? b * a : a)

ONS_KERNELS(cpu, prelu, ONS_KERNEL(prelu_prepare, ons_broadcast_run))
