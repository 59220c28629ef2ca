#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(hard_swish, x * fmaxf(0, fminf(1, x * (1.0f / 6) + 0.5f)))
