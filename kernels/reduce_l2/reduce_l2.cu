#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_l2, 0, a + x * x, a + b, sqrtf(a))

ONS_KERNELS(cuda, reduce_l2, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_l2))
