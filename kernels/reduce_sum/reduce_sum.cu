#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_sum, 0, a + x, a + b, a)

ONS_KERNELS(cuda, reduce_sum, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_sum))
