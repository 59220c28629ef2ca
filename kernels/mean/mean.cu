#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(mean, (a + b) / parameters[0])

ONS_KERNELS(cuda, mean, ONS_KERNEL(ons_cuda_variadic_prepare, ons_cuda_run_mean))
