#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(acos, acosf(x))

ONS_KERNELS(cuda, acos, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_acos))
