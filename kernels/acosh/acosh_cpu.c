/* Acosh on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(acosh, ons_acosh(x))

ONS_KERNELS(cpu, acosh, ONS_KERNEL(ons_unary_prepare, acosh_run))
