#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(mean, (a + b) / parameters[0])
