#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(or, (a | b) != 0)
