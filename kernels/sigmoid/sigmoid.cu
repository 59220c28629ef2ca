#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sigmoid, 1 / (1 + expf(-x)))
