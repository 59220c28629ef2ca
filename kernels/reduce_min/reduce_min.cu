#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_min, INFINITY, x < a || x != x ? x : a, b < a || b != b ? b : a, a)
