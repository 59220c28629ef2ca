/* Sinh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(sinh, ons_sinh(x))

ONS_KERNELS(cpu, sinh, ONS_KERNEL(ons_unary_prepare, sinh_run))
