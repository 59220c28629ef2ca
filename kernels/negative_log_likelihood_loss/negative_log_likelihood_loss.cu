#include "kernels/losses/cuda_model_loss.cuh"

namespace {

struct label_loss {
    ons::target_losses losses;
    const float *scores;
    __device__ void operator()(int64_t i) const {
        const ons_axis_view &view = losses.classes.view;
        int64_t target = ons::class_at(losses.classes, losses.labels, i);
        losses.take(i, target, target < 0 ? 0 : -scores[ons::row_start(view, i) + target * view.inner]);
    }
};

} // namespace

extern "C" void ons_cuda_run_negative_log_likelihood_loss(const ons_launch *launch) {
    label_loss f = {ons::target_losses_of(launch), (const float *)launch->inputs[0]};
    ons::check_labels(launch);
    ons::each(launch, f.losses.classes.view.outer * f.losses.classes.view.inner, f);
    ons::finish_losses(launch, f.losses);
}

ONS_KERNELS(cuda, negative_log_likelihood_loss,
            ONS_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_run_negative_log_likelihood_loss))
