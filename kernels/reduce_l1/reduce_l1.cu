#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_l1, 0, a + fabsf(x), a + b, a)

ONS_KERNELS(cuda, reduce_l1, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_l1))
