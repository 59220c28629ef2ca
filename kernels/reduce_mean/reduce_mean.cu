#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_mean, 0, a + x, a + b, a / count)
