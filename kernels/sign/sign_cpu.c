/* Sign on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_NUMBER_KERNEL(sign, (x > 0) - (x < 0), x > 0 ? 1 : x < 0 ? -1 : x)

ONS_KERNELS(cpu, sign, ONS_KERNEL(ons_unary_number_prepare, sign_run))
