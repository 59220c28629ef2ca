/* Sigmoid on the CPU. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

ONS_UNARY_FLOAT_KERNEL(sigmoid, ons_sigmoid(x))

ONS_KERNELS(cpu, sigmoid, ONS_KERNEL(ons_unary_prepare, sigmoid_run))
