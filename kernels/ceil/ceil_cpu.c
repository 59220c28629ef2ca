/* Ceil on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(ceil, __builtin_ceilf(x))

ONS_KERNELS(cpu, ceil, ONS_KERNEL(ons_unary_prepare, ceil_run))
