#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(shrink, x < -parameters[0] ? x + parameters[1] : x > parameters[0] ? x - parameters[1] : 0)
