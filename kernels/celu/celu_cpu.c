/* Celu on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(celu, x > 0 ? x : parameters[0] * ons_exp_minus_one(x > 0 ? 0 : x / parameters[0]))

ONS_KERNELS(cpu, celu, ONS_KERNEL(ons_unary_prepare, celu_run))
