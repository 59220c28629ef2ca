#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(ceil, ceilf(x))

ONS_KERNELS(cuda, ceil, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_ceil))
