#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(tanh_gradient, a *(1 - b * b))

ONS_KERNELS(cuda, tanh_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_tanh_gradient))
