/* Tanh on the CPU. */
#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(tanh, ons_tanh(x))

ONS_KERNELS(cpu, tanh, ONS_KERNEL(ons_unary_prepare, tanh_run))
