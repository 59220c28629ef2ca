/* Selu on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(selu, parameters[1] * (x > 0 ? x : parameters[0] * ons_exp_minus_one(x > 0 ? 0 : x)))

ONS_KERNELS(cpu, selu, ONS_KERNEL(ons_unary_prepare, selu_run))
