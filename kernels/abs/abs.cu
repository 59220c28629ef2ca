#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(abs, x < 0 ? -x : x)
