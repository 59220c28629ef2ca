#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(sum, a + b)
