#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(softsign_gradient, a / ((1 + fabsf(b)) * (1 + fabsf(b))))
