#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(prelu_slope_gradient, b < 0 ? a * b : 0)

ONS_KERNELS(cuda, prelu_slope_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_prelu_slope_gradient))
