#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(greater_or_equal, a >= b)

ONS_KERNELS(cuda, greater_or_equal, ONS_KERNEL(ons_cuda_any_prepare, ons_cuda_run_greater_or_equal))
