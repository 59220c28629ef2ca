#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(binary_cross_entropy_gradient, 1 / (1 + expf(-x)) - t)

ONS_KERNELS(cuda, binary_cross_entropy_gradient,
            ONS_KERNEL(ons_pointwise_loss_prepare, ons_cuda_run_binary_cross_entropy_gradient))
