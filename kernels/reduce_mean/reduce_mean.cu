#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_mean, 0, a + x, a + b, a / count)

ONS_KERNELS(cuda, reduce_mean, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_mean))
