/* Reciprocal on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(reciprocal, 1 / x)

ONS_KERNELS(cpu, reciprocal, ONS_KERNEL(ons_unary_prepare, reciprocal_run))
