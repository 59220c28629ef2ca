#include "kernels/losses/cuda_class_loss.cuh"

namespace {

/* A term for every target: log Σ e^x - x[target], with the shares of class_loss.h, 0 where it does not count. slopes
 * (NULL: not wanted) may be x. */
template <class Group, class T>
__global__ void __launch_bounds__(Group::THREADS, Group::BLOCKS)
    cross_entropy_terms(ons_class_loss loss, ons::class_shares shares, const T *x, const void *targets,
                        const ons_step *step, double *terms, float *saved, T *slopes) {
    const ons_axis_view &view = loss.view;
    float all = shares.spread > 0 ? shares.spread * ons::sum_of_weights<Group>(shares.weights, view.length) : 0;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_at(loss, targets, row);
        float max = 0, sum = 1, chosen = target < 0 ? 0 : ons::widen(x[start + target * view.inner]);
        if (target >= 0) ons::max_and_sum<Group>(x + start, view.length, view.inner, &max, &sum);
        bool smoothed = target >= 0 && shares.spread > 0;
        float gaps = smoothed ? ons::sum_of_gaps<Group>(x + start, max, shares.weights, view) : 0;
        float log_sum = logf(sum), own = target < 0 ? 0 : shares.of_target(target);
        if (slopes != nullptr) {
            Group::barrier(); /* everybody has read what is written over now */
            float whole = max + log_sum, share = ons_is_far(whole) ? expf((whole - max) - log_sum) : 1.0f;
            ons::class_slopes<T> mine = {x + start, slopes + start, whole, (float)(1 / step->counted_targets),
                                         target,    shares,         own,   (own + all) * share};
            mine.template fill<Group>(view);
        }
        if (Group::lane() != 0) continue;
        double term = own * ((double)(max - chosen) + log_sum);
        if (smoothed) term += (double)shares.spread * gaps + (double)all * log_sum;
        terms[row] = target < 0 ? 0 : term;
        if (saved != nullptr) saved[row] = target < 0 ? 0 : max + log_sum;
    }
}

template <class T> void run_cross_entropy(const ons_launch *launch, const ons_class_loss &loss) {
    int64_t rows = loss.view.outer * loss.view.inner;
    double *terms = (double *)launch->scratch;
    ons::launch_check_classes(launch, loss, launch->inputs[1]);
    ONS_CUDA_LAUNCH_ROWS_READ_TWICE(launch, loss.view, rows, cross_entropy_terms, T, loss,
                                    ons::class_shares_of(launch, loss), (const T *)launch->inputs[0], launch->inputs[1],
                                    launch->device_step, terms, (float *)launch->outputs[1], (T *)launch->outputs[2]);
    ons::launch(launch, ons::mean_of_terms, 1, ons::ROW_THREADS, (const double *)terms, rows, launch->device_step,
                (float *)launch->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy(const ons_launch *launch) {
    const ons_cuda_class_loss *state = (const ons_cuda_class_loss *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(state->dtype, run_cross_entropy, launch, state->loss);
}

ONS_KERNELS(cuda, cross_entropy, ONS_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_run_cross_entropy))
