#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(hard_swish, x *fmaxf(0, fminf(1, x *(1.0f / 6) + 0.5f)))

ONS_KERNELS(cuda, hard_swish, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_hard_swish))
