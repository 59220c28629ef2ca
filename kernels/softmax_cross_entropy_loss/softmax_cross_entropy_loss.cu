#include "kernels/losses/cuda_model_loss.cuh"

namespace {

/* The loss of every target; with it the log-softmax of all scores and log Σ e^score of every target, where they are
 * read. */
template <class Group, class T>
__global__ void label_losses(ons::target_losses losses, const T *scores, T *log_probability, T *log_sums) {
    const ons_axis_view &view = losses.classes.view;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_at(losses.classes, losses.labels, row);
        float max, sum;
        ons::max_and_sum<Group>(scores + start, view.length, view.inner, &max, &sum);
        float log_sum = logf(sum);
        for (int64_t k = Group::lane(); log_probability != nullptr && k < view.length; k += Group::SIZE)
            log_probability[start + k * view.inner] = (scores[start + k * view.inner] - max) - log_sum;
        if (Group::lane() != 0) continue;
        losses.take(row, target, target < 0 ? 0 : (max - scores[start + target * view.inner]) + log_sum);
        if (log_sums != nullptr) log_sums[row] = max + log_sum;
    }
}

} // namespace

extern "C" void ons_cuda_run_softmax_cross_entropy_loss(const ons_launch *launch) {
    ons::target_losses losses = ons::target_losses_of(launch);
    const ons_axis_view &view = losses.classes.view;
    ons::check_labels(launch);
    ONS_CUDA_LAUNCH_ROWS(launch, view, view.outer * view.inner, label_losses, float, losses,
                         (const float *)launch->inputs[0], (float *)launch->outputs[1], (float *)launch->outputs[2]);
    ons::finish_losses(launch, losses);
}

ONS_KERNELS(cuda, softmax_cross_entropy_loss,
            ONS_KERNEL(ons_cuda_model_loss_prepare, ons_cuda_run_softmax_cross_entropy_loss))
