#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(elu_gradient, b > 0 ? a : a * parameters[0] * expf(b))
