#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(abs, x < 0 ? -x : x)

ONS_KERNELS(cuda, abs, ONS_KERNEL(ons_cuda_number_prepare, ons_cuda_run_abs))
