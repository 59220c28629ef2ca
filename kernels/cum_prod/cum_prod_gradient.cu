#include "kernels/cumulative/cuda_cumulative.cuh"

namespace {

/* One line: from its end the tails T, whose factor P, the product of all before, is made anew from the beginning first
 * and kept in dx (see the operator's C file). */
template <class T> struct product_line {
    ons_cumulative s;
    const T *x, *dy;
    T *dx;
    __device__ void operator()(int64_t line) const {
        double product = 1, tail = 0;
        for (int64_t i = 0; i < s.length; ++i) {
            int64_t at = ons::cumulative_place(s, line, i);
            dx[at] = ons::narrow<T>(product);
            product *= ons::widen(x[at]);
        }
        for (int64_t i = s.length; i-- > 0;) {
            int64_t at = ons::cumulative_place(s, line, i);
            double value = ons::widen(x[at]), slope = ons::widen(dy[at]), own = s.exclusive ? tail : tail + slope;
            dx[at] = ons::narrow<T>(ons::widen(dx[at]) * own);
            tail = value * own + (s.exclusive ? slope : 0);
        }
    }
};

template <class T> void run_cum_prod_gradient(const ons_launch *l, const ons_cumulative *s) {
    product_line<T> f = {*s, (const T *)l->inputs[0], (const T *)l->inputs[2], (T *)l->outputs[0]};
    ons::each(l, s->outer * s->inner, f);
}

} // namespace

extern "C" void ons_cuda_run_cum_prod_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_cumulative, run_cum_prod_gradient, launch);
}
