#include "kernels/losses/cuda_class_loss.cuh"

namespace {

template <class Group, class T>
__global__ void join_slopes(ons_class_loss loss, ons::class_shares shares, const T *log_sums, const void *targets,
                            const float *joined, const float *cotangent, const ons_step *step, T *slopes) {
    const ons_axis_view &view = loss.view;
    const ons::class_shares none = {nullptr, 0, 0};
    float scale = (float)(*cotangent / step->counted_targets);
    float all = shares.spread > 0 ? shares.spread * ons::sum_of_weights<Group>(shares.weights, loss.classes) : 0;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_among(loss.classes, loss, targets, row);
        float factor = target < 0 ? 0 : shares.of_target(target) + all;
        ons::class_slopes<T> mine = {
            log_sums + start, slopes + start, joined[row], scale, target < 0 ? -1 : view.length, none, 0, factor};
        mine.template fill<Group>(view);
    }
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy_join_gradient(const ons_launch *launch) {
    const ons_class_loss &loss = *(const ons_class_loss *)launch->state;
    ONS_CUDA_LAUNCH_ROWS(launch, loss.view, loss.view.outer * loss.view.inner, join_slopes, float, loss,
                         ons::class_shares_of(launch, loss), (const float *)launch->inputs[0], launch->inputs[1],
                         (const float *)launch->inputs[2], (const float *)launch->inputs[3], launch->device_step,
                         (float *)launch->outputs[0]);
}

ONS_KERNELS(cuda, cross_entropy_join_gradient,
            ONS_KERNEL(ons_cuda_class_loss_prepare, ons_cuda_run_cross_entropy_join_gradient))
