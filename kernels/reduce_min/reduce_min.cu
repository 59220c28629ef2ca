#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_min, INFINITY, x < a || x != x ? x : a, b < a || b != b ? b : a, a)

ONS_KERNELS(cuda, reduce_min, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_min))
