#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(reciprocal, 1 / x)

ONS_KERNELS(cuda, reciprocal, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_reciprocal))
