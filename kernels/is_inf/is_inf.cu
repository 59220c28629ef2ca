#include "kernels/common/elementwise/cuda_elementwise.cuh"

ONS_CUDA_TEST(is_inf, x == parameters[0] || x == parameters[1])
