#include "kernels/common/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(squared_error_gradient, 2 * (x - t))
