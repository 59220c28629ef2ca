#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(asinh, asinhf(x))

ONS_KERNELS(cuda, asinh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_asinh))
