#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(selu_gradient, b > 0 ? a * parameters[1] : a * (b + parameters[0] * parameters[1]))

ONS_KERNELS(cuda, selu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_selu_gradient))
