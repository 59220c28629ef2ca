/* BitwiseXor on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BITWISE_KERNEL(bitwise_xor, a ^ b)

ONS_KERNELS(cpu, bitwise_xor, ONS_KERNEL(bitwise_xor_prepare, ons_broadcast_run))
