/* Div on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_KERNELS(div, ons_wrapping_divide(a, b), a / b)

ONS_KERNELS(cpu, div, ONS_KERNEL(div_prepare, ons_broadcast_run))
