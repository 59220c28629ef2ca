/* Acos on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(acos, ons_acos(x))

ONS_KERNELS(cpu, acos, ONS_KERNEL(ons_unary_prepare, acos_run))
