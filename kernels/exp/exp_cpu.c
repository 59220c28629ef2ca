/* Exp on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(exp, ons_exp(x))

ONS_KERNELS(cpu, exp, ONS_KERNEL(ons_unary_prepare, exp_run))
