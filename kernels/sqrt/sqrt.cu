#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sqrt, sqrtf(x))
