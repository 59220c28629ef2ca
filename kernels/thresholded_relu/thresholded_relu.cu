#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(thresholded_relu, x > parameters[0] ? x : 0)

ONS_KERNELS(cuda, thresholded_relu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_thresholded_relu))
