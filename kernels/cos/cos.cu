#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(cos, cosf(x))

ONS_KERNELS(cuda, cos, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_cos))
