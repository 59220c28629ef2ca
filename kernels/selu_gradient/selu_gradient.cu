#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(selu_gradient, b > 0 ? a * parameters[1] : a * (b + parameters[0] * parameters[1]))
