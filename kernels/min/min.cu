#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(min, a < b || a != a ? a : b)

ONS_KERNELS(cuda, min, ONS_KERNEL(ons_cuda_variadic_prepare, ons_cuda_run_min))
