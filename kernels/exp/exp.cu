#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(exp, expf(x))

ONS_KERNELS(cuda, exp, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_exp))
