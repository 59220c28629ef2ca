#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(leaky_relu, x < 0 ? parameters[0] * x : x)
