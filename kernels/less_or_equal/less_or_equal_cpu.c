/* LessOrEqual on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_KERNEL(less_or_equal, a <= b)

ONS_KERNELS(cpu, less_or_equal, ONS_KERNEL(less_or_equal_prepare, ons_broadcast_run))
