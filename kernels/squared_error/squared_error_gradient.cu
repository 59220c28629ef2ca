#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(squared_error_gradient, 2 * (x - t))

ONS_KERNELS(cuda, squared_error_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, ons_cuda_run_squared_error_gradient))
