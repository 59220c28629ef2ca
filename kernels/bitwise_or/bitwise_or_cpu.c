/* BitwiseOr on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BITWISE_KERNEL(bitwise_or, a | b)

ONS_KERNELS(cpu, bitwise_or, ONS_KERNEL(bitwise_or_prepare, ons_broadcast_run))
