#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sigmoid, 1 / (1 + expf(-x)))

ONS_KERNELS(cuda, sigmoid, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_sigmoid))
