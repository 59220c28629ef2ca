#include "kernels/common/cuda_class_loss.cuh"

namespace {

/* dx may be x. */
template <class Group, class T>
__global__ void cross_entropy_slopes(ons_class_loss loss, const T *x, const void *targets, const float *log_sums,
                                     const float *cotangent, const ons_step *step, T *dx) {
    const ons_axis_view &view = loss.view;
    float scale = (float)(*cotangent / step->counted_targets);
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_at(loss, targets, row);
        float log_sum = log_sums[row];
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            float slope = expf(ons::widen(x[at]) - log_sum) - (k == target ? 1.0f : 0.0f);
            dx[at] = ons::narrow<T>(target < 0 ? 0.0f : slope * scale);
        }
    }
}

} // namespace

extern "C" void ons_cuda_cross_entropy_gradient(const ons_launch *launch) {
    const ons_class_loss *loss = (const ons_class_loss *)launch->state;
    ONS_CUDA_LAUNCH_ROWS(launch, loss->view, loss->view.outer * loss->view.inner, cross_entropy_slopes, float, *loss,
                         (const float *)launch->inputs[0], launch->inputs[1], (const float *)launch->inputs[2],
                         (const float *)launch->inputs[3], launch->device_step, (float *)launch->outputs[0]);
}
