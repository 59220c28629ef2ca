/* Atan on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(atan, ons_atan(x))

ONS_KERNELS(cpu, atan, ONS_KERNEL(ons_unary_prepare, atan_run))
