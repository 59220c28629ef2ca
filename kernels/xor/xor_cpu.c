/* Xor on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_LOGIC_KERNEL(xor, (a ^ b) != 0)

ONS_KERNELS(cpu, xor, ONS_KERNEL(xor_prepare, ons_broadcast_run))
