#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(sign, x > 0 ? W(1) : x < 0 ? W(-1) : x)
