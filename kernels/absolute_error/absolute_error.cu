#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(absolute_error, fabsf(x - t))
