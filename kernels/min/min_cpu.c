/* Min on the CPU. */
#include "kernels/common/elementwise/variadic.h"

ONS_CHOICE_KERNELS(min, a < b || a != a ? a : b, a < b ? a : b)

ONS_KERNELS(cpu, min, ONS_KERNEL(min_prepare, ons_broadcast_run))
