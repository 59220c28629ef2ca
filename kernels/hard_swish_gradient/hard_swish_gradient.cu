#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(hard_swish_gradient, a * (b <= -3 ? 0 : b < 3 ? b * (1.0f / 3) + 0.5f : 1))
