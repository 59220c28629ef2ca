/* Atanh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(atanh, ons_atanh(x))

ONS_KERNELS(cpu, atanh, ONS_KERNEL(ons_unary_prepare, atanh_run))
