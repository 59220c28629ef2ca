/* Greater on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_KERNEL(greater, a > b)

ONS_KERNELS(cpu, greater, ONS_KERNEL(greater_prepare, ons_broadcast_run))
