/* Elu on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(elu, x < 0 ? parameters[0] * ons_exp_minus_one(x < 0 ? x : 0) : x)

ONS_KERNELS(cpu, elu, ONS_KERNEL(ons_unary_prepare, elu_run))
