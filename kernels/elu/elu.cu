#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(elu, x < 0 ? parameters[0] * expm1f(x) : x)

ONS_KERNELS(cuda, elu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_elu))
