#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(absolute_error_gradient, x > t ? 1 : x < t ? -1 : x - t)
