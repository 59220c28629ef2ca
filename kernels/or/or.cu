#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(or, (a | b) != 0)

ONS_KERNELS(cuda, or, ONS_KERNEL(ons_cuda_bool_prepare, ons_cuda_run_or))
