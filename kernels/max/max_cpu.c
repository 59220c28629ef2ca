/* Max on the CPU. */
#include "kernels/common/elementwise/variadic.h"

ONS_CHOICE_KERNELS(max, a > b || a != a ? a : b, a > b ? a : b)

ONS_KERNELS(cpu, max, ONS_KERNEL(max_prepare, ons_broadcast_run))
