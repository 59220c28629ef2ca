#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(less_or_equal, a <= b)

ONS_KERNELS(cuda, less_or_equal, ONS_KERNEL(ons_cuda_any_prepare, ons_cuda_run_less_or_equal))
