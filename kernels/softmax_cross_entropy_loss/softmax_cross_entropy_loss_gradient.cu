#include "kernels/losses/cuda_model_loss.cuh"

extern "C" void ons_cuda_run_softmax_cross_entropy_loss_gradient(const ons_launch *launch) {
    ons::model_loss_gradient(launch, (const float *)launch->inputs[ONS_MODEL_LOSS_OTHERS], ONS_MODEL_LOSS_OTHERS + 1);
}

ONS_KERNELS(cuda, softmax_cross_entropy_loss_gradient,
            ONS_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_run_softmax_cross_entropy_loss_gradient))
