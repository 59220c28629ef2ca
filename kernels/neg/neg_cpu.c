/* Neg on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_NUMBER_KERNEL(neg, ons_wrapping_subtract(0, x), -x)

ONS_KERNELS(cpu, neg, ONS_KERNEL(ons_unary_number_prepare, neg_run))
