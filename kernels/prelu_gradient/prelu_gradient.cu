#include "kernels/common/cuda_elementwise.cuh"

/* Of cotangent, operand and slope. */
ONS_CUDA_TERNARY(prelu_gradient, b < 0 ? a * c : a)
