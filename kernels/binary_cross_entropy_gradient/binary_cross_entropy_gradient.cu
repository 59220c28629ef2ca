#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(binary_cross_entropy_gradient, 1 / (1 + expf(-x)) - t)
