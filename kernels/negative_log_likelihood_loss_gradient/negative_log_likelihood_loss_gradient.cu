#include "kernels/common/cuda_model_loss.cuh"

extern "C" void ons_cuda_negative_log_likelihood_loss_gradient(const ons_launch *launch) {
    ons::model_loss_gradient(launch, nullptr, ONS_MODEL_LOSS_OTHERS);
}
