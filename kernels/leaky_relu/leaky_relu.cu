#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(leaky_relu, x < 0 ? parameters[0] * x : x)

ONS_KERNELS(cuda, leaky_relu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_leaky_relu))
