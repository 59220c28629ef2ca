/* SoftsignGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

ONS_BINARY_FLOAT_KERNEL(softsign_gradient, a / ((1 + ons_absolute(b)) * (1 + ons_absolute(b))))

ONS_KERNELS(cpu, softsign_gradient, ONS_KERNEL(softsign_gradient_prepare, ons_broadcast_run))
