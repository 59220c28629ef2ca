/* Tanh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(tanh, ons_tanh(x))

ONS_KERNELS(cpu, tanh, ONS_KERNEL(ons_unary_prepare, tanh_run))
