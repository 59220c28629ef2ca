/* Equal on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_KERNEL(equal, a == b)

ONS_KERNELS(cpu, equal, ONS_KERNEL(equal_prepare, ons_broadcast_run))
