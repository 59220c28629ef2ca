#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(asin, asinf(x))

ONS_KERNELS(cuda, asin, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_asin))
