#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY_NUMBERS(mul, a *b)

ONS_KERNELS(cuda, mul, ONS_KERNEL(ons_cuda_number_prepare, ons_cuda_run_mul))
