#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(relu_gradient, b > 0 ? a : 0)
