/* Abs on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_NUMBER_KERNEL(abs, x < 0 ? ons_wrapping_subtract(0, x) : x, ons_absolute(x))

ONS_KERNELS(cpu, abs, ONS_KERNEL(ons_unary_number_prepare, abs_run))
