#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/common/layout/channels.h"
}

namespace {

/* A plane is a row; with channels last the rows of a sample lie side by side. */
template <class Group, class T> __global__ void plane_shares(ons_axis_view view, const T *dy, T *dx) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t first = ons::row_start(view, row);
        T share = ons::narrow<T>(ons::widen(dy[row]) / (float)view.length);
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) dx[first + k * view.inner] = share;
    }
}

template <class T> void run_global_average_pool_gradient(const ons_launch *l, const ons_channels *s) {
    ons_axis_view view = {s->last ? s->batch : s->batch * s->channels, s->positions, s->last ? s->channels : 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, plane_shares, T, view, (const T *)l->inputs[0],
                         (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_global_average_pool_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_channels, run_global_average_pool_gradient, launch);
}
