#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(atan, atanf(x))

ONS_KERNELS(cuda, atan, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_atan))
