#include "kernels/common/cuda_class_loss.cuh"

namespace {

/* A term for every target: log Σ e^x - x[target], 0 where it does not count. */
template <class Group, class T>
__global__ void cross_entropy_terms(ons_class_loss loss, const T *x, const void *targets, double *terms, float *saved) {
    const ons_axis_view &view = loss.view;
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row), target = ons::class_at(loss, targets, row);
        float max = 0, sum = 1;
        if (target >= 0) ons::max_and_sum<Group>(x + start, view.length, view.inner, &max, &sum);
        if (Group::lane() != 0) continue;
        float log_sum = logf(sum);
        terms[row] = target < 0 ? 0 : (double)(max - ons::widen(x[start + target * view.inner])) + log_sum;
        if (saved != nullptr) saved[row] = target < 0 ? 0 : max + log_sum;
    }
}

} // namespace

extern "C" void ons_cuda_cross_entropy(const ons_launch *launch) {
    const ons_class_loss *loss = (const ons_class_loss *)launch->state;
    int64_t rows = loss->view.outer * loss->view.inner;
    double *terms = (double *)launch->scratch;
    ons::launch(launch, ons::check_classes, 1, ons::ROW_THREADS, *loss, launch->inputs[1], launch->fault);
    ONS_CUDA_LAUNCH_ROWS(launch, loss->view, rows, cross_entropy_terms, float, *loss, (const float *)launch->inputs[0],
                         launch->inputs[1], terms, (float *)launch->outputs[1]);
    ons::launch(launch, ons::mean_of_terms, 1, ons::ROW_THREADS, (const double *)terms, rows, launch->device_step,
                (float *)launch->outputs[0]);
}
