/* EluGradient on the CPU. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/math/vector_math.h"

ONS_BINARY_FLOAT_KERNEL(elu_gradient, b > 0 ? a : a * parameters[0] * ons_exp(b < 0 ? b : 0))

ONS_KERNELS(cpu, elu_gradient, ONS_KERNEL(elu_gradient_prepare, ons_broadcast_run))
