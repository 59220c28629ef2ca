#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(xor, (a ^ b) != 0)

ONS_KERNELS(cuda, xor, ONS_KERNEL(ons_cuda_bool_prepare, ons_cuda_run_xor))
