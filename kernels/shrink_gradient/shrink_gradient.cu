#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(shrink_gradient, b < -parameters[0] || b > parameters[0] ? a : 0)
