#include "kernels/losses/cuda_class_loss.cuh"

namespace {

/* A term for every target: -Σ q[k] w[k] x[k] of the classes here, 0 where it does not count; and log Σ e^x. */
template <class Group, class T>
__global__ void shard_terms(ons_class_loss loss, ons::class_shares shares, const T *x, const void *targets,
                            double *terms, float *log_sums) {
    const ons_axis_view &view = loss.view;
    const float *weights = ons_class_weights_from(shares.weights, loss.first);
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_among(loss.classes, loss, targets, row);
        float max = 0, sum = 1;
        if (target >= 0) ons::max_and_sum<Group>(x + start, view.length, view.inner, &max, &sum);
        bool smoothed = target >= 0 && shares.spread > 0;
        float gaps = smoothed ? ons::sum_of_gaps<Group>(x + start, 0, weights, view) : 0;
        if (Group::lane() != 0) continue;
        int64_t place = target < 0 ? view.length : ons_class_place(&loss, target);
        double term = smoothed ? (double)shares.spread * gaps : 0;
        if (place < view.length)
            term -= (double)shares.of_target(target) * (double)ons::widen(x[start + place * view.inner]);
        terms[row] = term;
        if (log_sums != nullptr) log_sums[row] = max + logf(sum); /* of -inf alone: log 0 */
    }
}

template <class T> void run_cross_entropy_shard(const ons_launch *launch, const ons_class_loss &loss) {
    int64_t rows = loss.view.outer * loss.view.inner;
    double *terms = (double *)launch->scratch;
    ons::launch_check_classes(launch, loss, launch->inputs[1]);
    ONS_CUDA_LAUNCH_ROWS(launch, loss.view, rows, shard_terms, T, loss, ons::class_shares_of(launch, loss),
                         (const T *)launch->inputs[0], launch->inputs[1], terms, (float *)launch->outputs[1]);
    ons::launch(launch, ons::mean_of_terms, 1, ons::ROW_THREADS, (const double *)terms, rows, launch->device_step,
                (float *)launch->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy_shard(const ons_launch *launch) {
    const ons_cuda_class_loss *state = (const ons_cuda_class_loss *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(state->dtype, run_cross_entropy_shard, launch, state->loss);
}

ONS_KERNELS(cuda, cross_entropy_shard, ONS_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_run_cross_entropy_shard))
