/* Mean on the CPU. */
#include "kernels/common/elementwise/variadic.h"

ONS_VARIADIC_SPAN(mean_float32, float, float, a + b, a / (float)count)

ONS_BINARY_PREPARE(mean, {ONS_FLOAT32, mean_float32})

ONS_KERNELS(cpu, mean, ONS_KERNEL(mean_prepare, ons_broadcast_run))
