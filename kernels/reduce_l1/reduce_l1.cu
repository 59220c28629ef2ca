#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_l1, 0, a + fabsf(x), a + b, a)
