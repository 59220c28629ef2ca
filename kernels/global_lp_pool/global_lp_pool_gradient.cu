#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/global_lp_pool/global_lp_pool.h"
#include "kernels/pooling/lp_terms.h"
}

namespace {

/* A plane is a row. */
template <class Group, class T>
__global__ void plane_norm_slopes(ons_axis_view view, int p, const T *dy, const T *x, const T *y, T *dx) {
    for (int64_t row = Group::first(); row < view.outer; row += Group::stride()) {
        int64_t first = row * view.length;
        float share = ons::widen(dy[row]) * ons_lp_share(ons::widen(y[row]), p);
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            dx[first + k] = ons::narrow<T>(ons_lp_slope(ons::widen(x[first + k]), p) * share);
    }
}

template <class T> void run_global_lp_pool_gradient(const ons_launch *l, const ons_global_lp_pool *s) {
    ons_axis_view view = {s->size.batch * s->size.channels, s->size.positions, 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, plane_norm_slopes, T, view, s->p, (const T *)l->inputs[0],
                         (const T *)l->inputs[1], (const T *)l->inputs[2], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_global_lp_pool_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_global_lp_pool, run_global_lp_pool_gradient, launch);
}
