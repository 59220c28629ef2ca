#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(prelu_slope_gradient, b < 0 ? a * b : 0)
