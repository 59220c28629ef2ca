/* Cosh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(cosh, ons_cosh(x))

ONS_KERNELS(cpu, cosh, ONS_KERNEL(ons_unary_prepare, cosh_run))
