#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(softsign, x / (1 + fabsf(x)))

ONS_KERNELS(cuda, softsign, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_softsign))
