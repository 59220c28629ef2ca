#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(softsign, x / (1 + fabsf(x)))
