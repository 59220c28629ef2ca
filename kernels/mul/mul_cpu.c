/* Mul on the CPU. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_KERNELS(mul, ons_wrapping_multiply(a, b), a *b)

ONS_KERNELS(cpu, mul, ONS_KERNEL(mul_prepare, ons_broadcast_run))
