#include "kernels/common/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_prod, 1, a *x, a *b, a)
