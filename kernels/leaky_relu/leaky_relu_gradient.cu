#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(leaky_relu_gradient, b > 0 ? a : parameters[0] * a)

ONS_KERNELS(cuda, leaky_relu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_leaky_relu_gradient))
