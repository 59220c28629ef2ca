#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_l2, 0, a + x * x, a + b, sqrtf(a))
