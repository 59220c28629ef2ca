#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(acosh, acoshf(x))

ONS_KERNELS(cuda, acosh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_acosh))
