#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(sum, a + b)

ONS_KERNELS(cuda, sum, ONS_KERNEL(ons_cuda_variadic_prepare, ons_cuda_run_sum))
