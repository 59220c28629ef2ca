/* Softplus on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(softplus, ons_softplus(x))

ONS_KERNELS(cpu, softplus, ONS_KERNEL(ons_unary_prepare, softplus_run))
