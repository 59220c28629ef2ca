#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/softmax/cuda_softmax.h"
}

namespace {

/* y may be x: a row is written after all of it was read for the sum. */
template <class Group, class T> __global__ void log_softmax_rows(ons_axis_view view, const T *x, T *y) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row);
        float max, sum;
        ons::max_and_sum<Group>(x + start, view.length, view.inner, &max, &sum);
        float log_sum = logf(sum);
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            y[at] = ons::narrow<T>(ons::widen(x[at]) - max - log_sum);
        }
    }
}

template <class T> void run_log_softmax(const ons_launch *l, const ons_axis_view &view) {
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, log_softmax_rows, T, view, (const T *)l->inputs[0],
                         (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_log_softmax(const ons_launch *launch) {
    const ons_cuda_rows *rows = (const ons_cuda_rows *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(rows->dtype, run_log_softmax, launch, rows->view);
}

ONS_KERNELS(cuda, log_softmax, ONS_KERNEL(ons_cuda_softmax_prepare, ons_cuda_run_log_softmax))
