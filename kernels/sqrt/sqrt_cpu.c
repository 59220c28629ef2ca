/* Sqrt on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(sqrt, __builtin_sqrtf(x))

ONS_KERNELS(cpu, sqrt, ONS_KERNEL(ons_unary_prepare, sqrt_run))
