/* GreaterOrEqual on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_KERNEL(greater_or_equal, a >= b)

ONS_KERNELS(cpu, greater_or_equal, ONS_KERNEL(greater_or_equal_prepare, ons_broadcast_run))
