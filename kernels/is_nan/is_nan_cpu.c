/* IsNaN on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(is_nan_float32, float, float, uint8_t, x != x)

static void is_nan_run(const ons_launch *launch) { ons_unary_run(launch, sizeof(float), 1, is_nan_float32); }

ONS_KERNELS(cpu, is_nan, ONS_KERNEL(ons_unary_prepare, is_nan_run))
