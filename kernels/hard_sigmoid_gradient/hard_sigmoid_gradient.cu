#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(hard_sigmoid_gradient, b > 0 && b < 1 ? a * parameters[0] : 0)
