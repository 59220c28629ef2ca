#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(mish, x * tanhf(fmaxf(x, 0) + log1pf(expf(-fabsf(x)))))
