#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(thresholded_relu_gradient, b > parameters[0] ? a : 0)

ONS_KERNELS(cuda, thresholded_relu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_thresholded_relu_gradient))
