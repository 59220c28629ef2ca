#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(sigmoid_gradient, a *(b *(1 - b)))

ONS_KERNELS(cuda, sigmoid_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_sigmoid_gradient))
