#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(absolute_error_gradient, x > t ? 1 : x < t ? -1 : x - t)

ONS_KERNELS(cuda, absolute_error_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, ons_cuda_run_absolute_error_gradient))
