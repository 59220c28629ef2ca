/* Not on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_SPAN(not_bool, uint8_t, uint8_t, uint8_t, x == 0)

static void not_run(const ons_launch *launch) { ons_unary_run(launch, 1, 1, not_bool); }

ONS_KERNELS(cpu, not, ONS_KERNEL(ons_unary_bool_prepare, not_run))
