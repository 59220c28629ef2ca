#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(binary_cross_entropy, fmaxf(x, 0) - x * t + log1pf(expf(-fabsf(x))))
