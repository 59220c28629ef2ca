#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(greater, a > b)

ONS_KERNELS(cuda, greater, ONS_KERNEL(ons_cuda_any_prepare, ons_cuda_run_greater))
