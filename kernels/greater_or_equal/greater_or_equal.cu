#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(greater_or_equal, a >= b)
