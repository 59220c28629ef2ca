#include "kernels/losses/cuda_class_loss.cuh"

namespace {

/* A term for every target: the shares of all classes × log Σ e^(log sum), 0 where it does not count. */
template <class Group, class T>
__global__ void join_terms(ons_class_loss loss, ons::class_shares shares, const T *log_sums, const void *targets,
                           double *terms, float *saved) {
    const ons_axis_view &view = loss.view;
    float all = shares.spread > 0 ? shares.spread * ons::sum_of_weights<Group>(shares.weights, loss.classes) : 0;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t target = ons::class_among(loss.classes, loss, targets, row);
        float max = 0, sum = 1;
        if (target >= 0)
            ons::max_and_sum<Group>(log_sums + ons::row_start(view, row), view.length, view.inner, &max, &sum);
        if (Group::lane() != 0) continue;
        float log_sum = logf(sum);
        terms[row] = target < 0 ? 0 : ((double)shares.of_target(target) + all) * ((double)max + log_sum);
        if (saved != nullptr) saved[row] = max + log_sum;
    }
}

} // namespace

extern "C" void ons_cuda_run_cross_entropy_join(const ons_launch *launch) {
    const ons_class_loss &loss = *(const ons_class_loss *)launch->state;
    int64_t rows = loss.view.outer * loss.view.inner;
    double *terms = (double *)launch->scratch;
    ONS_CUDA_LAUNCH_ROWS(launch, loss.view, rows, join_terms, float, loss, ons::class_shares_of(launch, loss),
                         (const float *)launch->inputs[0], launch->inputs[1], terms, (float *)launch->outputs[1]);
    ons::launch(launch, ons::mean_of_terms, 1, ons::ROW_THREADS, (const double *)terms, rows, launch->device_step,
                (float *)launch->outputs[0]);
}

ONS_KERNELS(cuda, cross_entropy_join, ONS_KERNEL(ons_cuda_class_loss_prepare, ons_cuda_run_cross_entropy_join))
