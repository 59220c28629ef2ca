#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/lp_normalization/lp_normalization.h"
#include "kernels/pooling/lp_terms.h"
}

namespace {

/* dx = dy ÷ n - slope(x) Σ(dy x) ÷ n^(p + 1); 0 where the norm n is 0. */
template <class Group, class T>
__global__ void norm_slope_rows(ons_axis_view view, int p, const T *dy, const T *x, T *dx) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t start = ons::row_start(view, row);
        float sum = 0, product = 0;
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            sum += ons_lp_term(ons::widen(x[at]), p);
            product += ons::widen(dy[at]) * ons::widen(x[at]);
        }
        float norm = ons_lp_root(Group::reduce(sum, 0.0f, ons::add()), p), share = norm == 0 ? 0 : 1 / norm;
        float rest = Group::reduce(product, 0.0f, ons::add()) * share * share * (p == 1 ? 1 : share);
        for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
            int64_t at = start + k * view.inner;
            dx[at] = ons::narrow<T>(ons::widen(dy[at]) * share - ons_lp_slope(ons::widen(x[at]), p) * rest);
        }
    }
}

template <class T> void run_lp_normalization_gradient(const ons_launch *l, const ons_lp_normalization *s) {
    ONS_CUDA_LAUNCH_ROWS(l, s->view, s->view.outer * s->view.inner, norm_slope_rows, T, s->view, s->p,
                         (const T *)l->inputs[0], (const T *)l->inputs[1], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_lp_normalization_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_lp_normalization, run_lp_normalization_gradient, launch);
}
