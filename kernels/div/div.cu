#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(div, a / b)
