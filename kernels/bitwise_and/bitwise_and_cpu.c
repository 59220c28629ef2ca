/* BitwiseAnd on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BITWISE_KERNEL(bitwise_and, a &b)

ONS_KERNELS(cpu, bitwise_and, ONS_KERNEL(bitwise_and_prepare, ons_broadcast_run))
