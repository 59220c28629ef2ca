#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_TEST(is_nan, x != x)

ONS_KERNELS(cuda, is_nan, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_is_nan))
