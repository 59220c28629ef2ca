#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(squared_error, (x - t) * (x - t))

ONS_KERNELS(cuda, squared_error, ONS_KERNEL(ons_cuda_pointwise_loss_prepare, ons_cuda_run_squared_error))
