#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(less, a < b)

ONS_KERNELS(cuda, less, ONS_KERNEL(ons_cuda_any_prepare, ons_cuda_run_less))
