#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(celu_gradient, b > 0 ? a : a * (b / parameters[0] + 1))
