#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_sum, 0, a + x, a + b, a)
