/* Asinh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(asinh, ons_asinh(x))

ONS_KERNELS(cpu, asinh, ONS_KERNEL(ons_unary_prepare, asinh_run))
