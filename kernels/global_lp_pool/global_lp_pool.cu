#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/global_lp_pool/global_lp_pool.h"
#include "kernels/pooling/lp_terms.h"
}

namespace {

/* A plane is a row. */
template <class Group, class T> __global__ void plane_norms(ons_axis_view view, int p, const T *x, T *y) {
    for (int64_t row = Group::first(); row < view.outer; row += Group::stride()) {
        int64_t first = row * view.length;
        float sum = 0;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            sum += ons_lp_term(ons::widen(x[first + k]), p);
        sum = Group::reduce(sum, 0.0f, ons::add());
        if (Group::lane() == 0) y[row] = ons::narrow<T>(ons_lp_root(sum, p));
    }
}

template <class T> void run_global_lp_pool(const ons_launch *l, const ons_global_lp_pool *s) {
    ons_axis_view view = {s->size.batch * s->size.channels, s->size.positions, 1};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer, plane_norms, T, view, s->p, (const T *)l->inputs[0], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_global_lp_pool(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_global_lp_pool, run_global_lp_pool, launch);
}
