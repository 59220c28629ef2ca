#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(binary_cross_entropy, fmaxf(x, 0) - x * t + log1pf(expf(-fabsf(x))))

ONS_KERNELS(cuda, binary_cross_entropy, ONS_KERNEL(ons_cuda_pointwise_loss_prepare, ons_cuda_run_binary_cross_entropy))
