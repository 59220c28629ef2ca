#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(tan, tanf(x))

ONS_KERNELS(cuda, tan, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_tan))
