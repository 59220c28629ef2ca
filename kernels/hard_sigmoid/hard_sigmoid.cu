#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(hard_sigmoid, fmaxf(0, fminf(1, parameters[0] * x + parameters[1])))

ONS_KERNELS(cuda, hard_sigmoid, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_hard_sigmoid))
