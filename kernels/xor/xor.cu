#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_LOGIC(xor, (a ^ b) != 0)
