/* Add on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_KERNELS(add, ons_wrapping_add(a, b), a + b)

ONS_KERNELS(cpu, add, ONS_KERNEL(add_prepare, ons_broadcast_run))
