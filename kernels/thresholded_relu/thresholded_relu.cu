#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_UNARY(thresholded_relu, x > parameters[0] ? x : 0)
