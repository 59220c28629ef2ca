#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_TEST(is_nan, x != x)
