#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(elu, x < 0 ? parameters[0] * expm1f(x) : x)
