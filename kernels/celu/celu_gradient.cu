#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(celu_gradient, b > 0 ? a : a * (b / parameters[0] + 1))

ONS_KERNELS(cuda, celu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_celu_gradient))
