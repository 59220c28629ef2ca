#include "kernels/losses/cuda_model_loss.cuh"

extern "C" void ons_cuda_run_negative_log_likelihood_loss_gradient(const ons_launch *launch) {
    ons::model_loss_gradient(launch, nullptr, ONS_MODEL_LOSS_OTHERS);
}

ONS_KERNELS(cuda, negative_log_likelihood_loss_gradient,
            ONS_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_run_negative_log_likelihood_loss_gradient))
