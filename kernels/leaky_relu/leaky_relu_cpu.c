/* LeakyRelu on the CPU. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_KERNEL(leaky_relu, x < 0 ? parameters[0] * x : x)

ONS_KERNELS(cpu, leaky_relu, ONS_KERNEL(ons_unary_prepare, leaky_relu_run))
