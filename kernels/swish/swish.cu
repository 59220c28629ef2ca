#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(swish, x / (1 + expf(-parameters[0] * x)))

ONS_KERNELS(cuda, swish, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_swish))
