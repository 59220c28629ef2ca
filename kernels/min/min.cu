#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(min, a < b || a != a ? a : b)
