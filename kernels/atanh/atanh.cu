#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(atanh, atanhf(x))

ONS_KERNELS(cuda, atanh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_atanh))
