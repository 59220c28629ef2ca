#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_UNARY(round, rintf(x))

ONS_KERNELS(cuda, round, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_round))
