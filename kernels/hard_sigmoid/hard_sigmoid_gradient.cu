#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(hard_sigmoid_gradient, b > 0 && b < 1 ? a * parameters[0] : 0)

ONS_KERNELS(cuda, hard_sigmoid_gradient, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_hard_sigmoid_gradient))
