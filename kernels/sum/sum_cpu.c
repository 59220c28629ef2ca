/* Sum on the CPU. */
#include "kernels/common/elementwise/variadic.h"

ONS_VARIADIC_KERNELS(sum, a + b, ons_wrapping_add(a, b), a)

ONS_KERNELS(cpu, sum, ONS_KERNEL(sum_prepare, ons_broadcast_run))
