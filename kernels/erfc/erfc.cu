#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(erfc, erfcf(x))

ONS_KERNELS(cuda, erfc, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_erfc))
