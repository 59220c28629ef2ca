#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY_NUMBERS(sign, x > 0 ? W(1) : x < 0 ? W(-1) : x)

ONS_KERNELS(cuda, sign, ONS_KERNEL(ons_cuda_number_prepare, ons_cuda_run_sign))
