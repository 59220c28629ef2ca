#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(mish, x *tanhf(fmaxf(x, 0) + log1pf(expf(-fabsf(x)))))

ONS_KERNELS(cuda, mish, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_mish))
