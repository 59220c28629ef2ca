#include "kernels/common/cuda_rows.cuh"

namespace {

/* dx = y (dy - Σ dy y); dx may be y or dy. */
template <class Group, class T>
__global__ void softmax_gradient_rows(ons_axis_view view, const T *y, const T *dy, T *dx) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row);
        float dot = 0;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            dot += ons::widen(dy[at]) * ons::widen(y[at]);
        }
        dot = Group::reduce(dot, 0.0f, ons::add());
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            dx[at] = ons::narrow<T>(ons::widen(y[at]) * (ons::widen(dy[at]) - dot));
        }
    }
}

template <class T> void run_softmax_gradient(const ons_launch *l, const ons_axis_view &view) {
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, softmax_gradient_rows, T, view, (const T *)l->inputs[0],
                         (const T *)l->inputs[1], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_softmax_gradient(const ons_launch *launch) {
    const ons_cuda_rows *rows = (const ons_cuda_rows *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(rows->dtype, run_softmax_gradient, launch, rows->view);
}
