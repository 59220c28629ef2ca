#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(floor, floorf(x))

ONS_KERNELS(cuda, floor, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_floor))
