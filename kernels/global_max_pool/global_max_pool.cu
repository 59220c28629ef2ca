#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/common/layout/channels.h"
}

namespace {

/* A plane is a row. */
template <class Group, class T> __global__ void plane_maxima(ons_axis_view view, const T *x, T *y) {
    for (int64_t row = Group::first(); row < view.outer; row += Group::stride()) {
        int64_t first = row * view.length;
        float most = -INFINITY;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            most = ons::larger()(ons::widen(x[first + k]), most);
        most = Group::reduce(most, (float)-INFINITY, ons::larger());
        if (Group::lane() == 0) y[row] = ons::narrow<T>(most);
    }
}

template <class T> void run_global_max_pool(const ons_launch *l, const ons_channels *s) {
    ons_axis_view view = {s->batch * s->channels, s->positions, 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, plane_maxima, T, view, (const T *)l->inputs[0], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_global_max_pool(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_channels, run_global_max_pool, launch);
}
