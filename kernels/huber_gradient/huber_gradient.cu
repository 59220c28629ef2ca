#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(huber_gradient, x - t > parameter ? parameter : x - t < -parameter ? -parameter : x - t)
