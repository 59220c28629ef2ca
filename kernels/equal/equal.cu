#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_COMPARISON(equal, a == b)

ONS_KERNELS(cuda, equal, ONS_KERNEL(ons_cuda_any_prepare, ons_cuda_run_equal))
