/* Relu on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_NUMBER_KERNEL(relu, x < 0 ? 0 : x, x < 0 ? 0 : x /* NaN stays NaN */)

ONS_KERNELS(cpu, relu, ONS_KERNEL(ons_unary_number_prepare, relu_run))
