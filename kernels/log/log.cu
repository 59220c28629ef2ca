#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(log, logf(x))

ONS_KERNELS(cuda, log, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_log))
