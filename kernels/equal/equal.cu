#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(equal, a == b)
