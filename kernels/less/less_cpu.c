/* Less on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_KERNEL(less, a < b)

ONS_KERNELS(cpu, less, ONS_KERNEL(less_prepare, ons_broadcast_run))
