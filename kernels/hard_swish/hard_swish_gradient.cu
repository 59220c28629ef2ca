#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(hard_swish_gradient, a *(b <= -3 ? 0 : b < 3 ? b * (1.0f / 3) + 0.5f : 1))

ONS_KERNELS(cuda, hard_swish_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_hard_swish_gradient))
