#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(channel_sum, 0, a + x, a + b, a)
