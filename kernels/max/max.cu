#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_VARIADIC(max, a > b || a != a ? a : b)

ONS_KERNELS(cuda, max, ONS_KERNEL(ons_cuda_variadic_prepare, ons_cuda_run_max))
