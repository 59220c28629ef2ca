#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(max, a > b || a != a ? a : b)
