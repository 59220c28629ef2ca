#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(sigmoid_gradient, a * (b * (1 - b)))
