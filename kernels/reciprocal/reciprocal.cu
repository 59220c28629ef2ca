#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(reciprocal, 1 / x)
