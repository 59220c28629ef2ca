#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(celu, x > 0 ? x : parameters[0] * expm1f(x / parameters[0]))

ONS_KERNELS(cuda, celu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_celu))
