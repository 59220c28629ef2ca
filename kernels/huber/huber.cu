#include "kernels/losses/cuda_pointwise_loss.cuh"

ONS_CUDA_POINTWISE_LOSS(huber, fabsf(x - t) < parameter ? 0.5f * (x - t) * (x - t)
                                                        : parameter * (fabsf(x - t) - 0.5f * parameter))

ONS_KERNELS(cuda, huber, ONS_KERNEL(ons_cuda_pointwise_loss_prepare, ons_cuda_run_huber))
