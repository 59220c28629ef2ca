#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(relu_gradient, b > 0 ? a : 0)

ONS_KERNELS(cuda, relu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_relu_gradient))
