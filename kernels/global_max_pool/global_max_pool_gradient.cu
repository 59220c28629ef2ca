#include "kernels/common/indexing/cuda_indexing.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/common/layout/channels.h"
}

namespace {

/* A plane is a row. */
template <class Group, class T>
__global__ void plane_slopes(ons_axis_view view, const T *dy, const T *x, const T *y, T *dx) {
    for (int64_t row = Group::first(); row < view.outer; row += Group::stride()) {
        int64_t first = row * view.length;
        float most = ons::widen(y[row]);
        int64_t place = view.length; /* of the first one that is the maximum */
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            if (k < place && ons::widen(x[first + k]) == most) place = k;
        place = Group::reduce(place, view.length, ons::smaller());
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            dx[first + k] = k == place ? dy[row] : ons::narrow<T>(0.0f);
    }
}

template <class T> void run_global_max_pool_gradient(const ons_launch *l, const ons_channels *s) {
    ons_axis_view view = {s->batch * s->channels, s->positions, 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, plane_slopes, T, view, (const T *)l->inputs[0], (const T *)l->inputs[1],
                         (const T *)l->inputs[2], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_global_max_pool_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_channels, run_global_max_pool_gradient, launch);
}
