#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(swish, x / (1 + expf(-parameters[0] * x)))
