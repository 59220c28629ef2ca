#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(cosh, coshf(x))

ONS_KERNELS(cuda, cosh, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_cosh))
