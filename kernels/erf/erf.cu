#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(erf, erff(x))

ONS_KERNELS(cuda, erf, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_erf))
