#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sqrt, sqrtf(x))

ONS_KERNELS(cuda, sqrt, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_sqrt))
