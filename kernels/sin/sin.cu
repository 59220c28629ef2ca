#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sin, sinf(x))

ONS_KERNELS(cuda, sin, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_sin))
