#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(elu_gradient, b > 0 ? a : a * parameters[0] * expf(b))

ONS_KERNELS(cuda, elu_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_elu_gradient))
