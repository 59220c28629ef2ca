/* Asin on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/trigonometry/trigonometry.h"

ONS_UNARY_FLOAT_KERNEL(asin, ons_asin(x))

ONS_KERNELS(cpu, asin, ONS_KERNEL(ons_unary_prepare, asin_run))
