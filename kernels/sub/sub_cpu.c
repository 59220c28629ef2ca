/* Sub on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_KERNELS(sub, ons_wrapping_subtract(a, b), a - b)

ONS_KERNELS(cpu, sub, ONS_KERNEL(sub_prepare, ons_broadcast_run))
