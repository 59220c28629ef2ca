#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/lp_normalization/lp_normalization.h"
#include "kernels/pooling/lp_terms.h"
}

namespace {

template <class Group, class T> __global__ void norm_rows(ons_axis_view view, int p, const T *x, T *y) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row);
        float sum = 0;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE)
            sum += ons_lp_term(ons::widen(x[start + k * view.inner]), p);
        float norm = ons_lp_root(Group::reduce(sum, 0.0f, ons::add()), p), share = norm == 0 ? 0 : 1 / norm;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            y[at] = ons::narrow<T>(ons::widen(x[at]) * share);
        }
    }
}

template <class T> void run_lp_normalization(const ons_launch *l, const ons_lp_normalization *s) {
    ONS_CUDA_LAUNCH_ROWS(l, s->view, s->view.outer * s->view.inner, norm_rows, T, s->view, s->p,
                         (const T *)l->inputs[0], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_lp_normalization(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_lp_normalization, run_lp_normalization, launch);
}
