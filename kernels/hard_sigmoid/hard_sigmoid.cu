#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(hard_sigmoid, fmaxf(0, fminf(1, parameters[0] * x + parameters[1])))
