#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(softsign_gradient, a / ((1 + fabsf(b)) * (1 + fabsf(b))))

ONS_KERNELS(cuda, softsign_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_softsign_gradient))
