#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(sinh, sinhf(x))

ONS_KERNELS(cuda, sinh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_sinh))
