#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(prelu, a < 0 ? b * a : a)
