#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_sum_square, 0, a + x * x, a + b, a)
