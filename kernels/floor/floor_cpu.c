/* Floor on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(floor, __builtin_floorf(x))

ONS_KERNELS(cpu, floor, ONS_KERNEL(ons_unary_prepare, floor_run))
