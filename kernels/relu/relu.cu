#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(relu, x < 0 ? W(0) : x)
