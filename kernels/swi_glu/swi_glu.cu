#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(swi_glu, a / (1 + expf(-parameters[0] * a)) * b)
