#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(prelu, a < 0 ? b * a : a)

ONS_KERNELS(cuda, prelu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_prelu))
