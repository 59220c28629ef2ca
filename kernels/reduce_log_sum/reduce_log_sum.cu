#include "kernels/reduction/cuda_reduction.cuh"

ONS_CUDA_REDUCTION(reduce_log_sum, 0, a + x, a + b, logf(a))

ONS_KERNELS(cuda, reduce_log_sum, ONS_KERNEL(ons_cuda_reduction_prepare, ons_cuda_run_reduce_log_sum))
