#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS_GRADIENT(huber_gradient, x - t > parameter    ? parameter
                                                 : x - t < -parameter ? -parameter
                                                                      : x - t)

ONS_KERNELS(cuda, huber_gradient, ONS_KERNEL(ons_pointwise_loss_prepare, ons_cuda_run_huber_gradient))
