#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(leaky_relu_gradient, b > 0 ? a : parameters[0] * a)
