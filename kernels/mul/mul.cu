#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY_NUMBERS(mul, a * b)
