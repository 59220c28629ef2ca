#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_sum_square, 0, a + x * x, a + b, a)

ONS_KERNELS(cuda, reduce_sum_square, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_sum_square))
