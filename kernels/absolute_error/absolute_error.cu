#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(absolute_error, fabsf(x - t))

ONS_KERNELS(cuda, absolute_error, ONS_KERNEL(ons_cuda_pointwise_loss_prepare, ons_cuda_run_absolute_error))
