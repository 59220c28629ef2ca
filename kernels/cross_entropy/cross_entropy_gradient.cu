#include "kernels/losses/cuda_class_loss.cuh"

namespace {

template <class Group, class T>
__global__ void cross_entropy_slopes(ons_class_loss loss, ons::class_shares shares, const T *x, const void *targets,
                                     const float *log_sums, const float *cotangent, const ons_step *step, T *dx) {
    const ons_axis_view &view = loss.view;
    float scale = (float)(*cotangent / step->counted_targets);
    float all = shares.spread > 0 ? shares.spread * ons::sum_of_weights<Group>(shares.weights, view.length) : 0;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_at(loss, targets, row);
        float own = target < 0 ? 0 : shares.of_target(target);
        float share = ons::far_share<Group>(x + start, view, log_sums[row]);
        ons::class_slopes<T> mine = {x + start, dx + start, log_sums[row], scale,
                                     target,    shares,     own,           (own + all) * share};
        mine.template fill<Group>(view);
    }
}

template <class T> void run_cross_entropy_gradient(const ons_launch *launch, const ons_class_loss &loss) {
    ONS_CUDA_LAUNCH_ROWS(launch, loss.view, loss.view.outer * loss.view.inner, cross_entropy_slopes, T, loss,
                         ons::class_shares_of(launch, loss), (const T *)launch->inputs[0], launch->inputs[1],
                         (const float *)launch->inputs[2], (const float *)launch->inputs[3], launch->device_step,
                         (T *)launch->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy_gradient(const ons_launch *launch) {
    const ons_cuda_class_loss *state = (const ons_cuda_class_loss *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(state->dtype, run_cross_entropy_gradient, launch, state->loss);
}

ONS_KERNELS(cuda, cross_entropy_gradient,
            ONS_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_run_cross_entropy_gradient))
