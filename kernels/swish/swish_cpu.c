/* Swish on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(swish, x *ons_sigmoid(parameters[0] * x))

ONS_KERNELS(cpu, swish, ONS_KERNEL(ons_unary_prepare, swish_run))
