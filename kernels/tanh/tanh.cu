#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(tanh, tanhf(x))

ONS_KERNELS(cuda, tanh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_tanh))
