#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(tanh_gradient, a * (1 - b * b))
