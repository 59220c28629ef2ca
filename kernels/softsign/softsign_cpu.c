/* Softsign on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(softsign, x / (1 + ons_absolute(x)))

ONS_KERNELS(cpu, softsign, ONS_KERNEL(ons_unary_prepare, softsign_run))
