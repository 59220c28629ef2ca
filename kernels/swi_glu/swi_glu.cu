#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_BINARY(swi_glu, a / (1 + expf(-parameters[0] * a)) * b)

ONS_KERNELS(cuda, swi_glu, ONS_KERNEL(ons_cuda_float_prepare, ons_cuda_run_swi_glu))
