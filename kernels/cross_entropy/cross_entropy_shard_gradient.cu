#include "kernels/losses/cuda_class_loss.cuh"

namespace {

/* Of the classes here, scaled, by a cotangent of either sign. */
struct scaled_shares {
    const float *weights;
    float spread;
    __device__ float of_any(int64_t k) const { return spread != 0 ? spread * ons_class_weight(weights, k) : 0; }
};

template <class Group, class T>
__global__ void shard_slopes(ons_class_loss loss, ons::class_shares shares, const T *x, const void *targets,
                             const float *log_sums, const float *of_part, const float *of_log_sums,
                             const ons_step *step, T *dx) {
    const ons_axis_view &view = loss.view;
    float scale = of_part == nullptr ? 0 : (float)(*of_part / step->counted_targets);
    scaled_shares here = {ons_class_weights_from(shares.weights, loss.first), shares.spread * scale};
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_among(loss.classes, loss, targets, row);
        bool counts = target >= 0;
        /* What is scaled already needs no scale. Where all here is -inf, e^(x - log sum) is 0. */
        float log_sum = log_sums[row] == -INFINITY ? INFINITY : log_sums[row];
        float own = counts ? shares.of_target(target) * scale : 0;
        float factor = counts && of_log_sums != nullptr ? of_log_sums[row] : 0;
        ons::class_slopes<T, scaled_shares> mine = {
            x + start, dx + start, log_sum, 1, counts ? ons_class_place(&loss, target) : -1, here, own, factor};
        mine.template fill<Group>(view);
    }
}

template <class T> void run_cross_entropy_shard_gradient(const ons_launch *launch, const ons_class_loss &loss) {
    ONS_CUDA_LAUNCH_ROWS(launch, loss.view, loss.view.outer * loss.view.inner, shard_slopes, T, loss,
                         ons::class_shares_of(launch, loss), (const T *)launch->inputs[0], launch->inputs[1],
                         (const float *)launch->inputs[2], (const float *)launch->inputs[3],
                         (const float *)launch->inputs[4], launch->device_step, (T *)launch->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy_shard_gradient(const ons_launch *launch) {
    const ons_cuda_class_loss *state = (const ons_cuda_class_loss *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(state->dtype, run_cross_entropy_shard_gradient, launch, state->loss);
}

ONS_KERNELS(cuda, cross_entropy_shard_gradient,
            ONS_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_run_cross_entropy_shard_gradient))
