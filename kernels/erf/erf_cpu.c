/* Erf on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(erf, ons_erf(x))

ONS_KERNELS(cpu, erf, ONS_KERNEL(ons_unary_prepare, erf_run))
