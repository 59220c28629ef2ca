#include "kernels/common/cuda_elementwise.cuh"

ONS_CUDA_BINARY(thresholded_relu_gradient, b > parameters[0] ? a : 0)
