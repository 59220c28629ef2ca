#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(selu, parameters[1] * (x > 0 ? x : parameters[0] * expm1f(x)))

ONS_KERNELS(cuda, selu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_selu))
