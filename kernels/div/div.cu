#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(div, a / b)

ONS_KERNELS(cuda, div, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_div))
