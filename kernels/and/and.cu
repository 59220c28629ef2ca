#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(and, (a & b) != 0)

ONS_KERNELS(cuda, and, ONS_KERNEL(ons_cuda_bool_prepare, ons_cuda_run_and))
