#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(and, (a & b) != 0)
