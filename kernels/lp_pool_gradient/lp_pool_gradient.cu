#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct shares_of_norms {
    ons_cuda_pooling s;
    const T *dy, *x, *y;
    T *dx;
    __device__ void operator()(int64_t i) const {
        ons::pooled of = ons::pooled_of(s, i, s.inputs, s.outputs);
        float sum = 0;
        ons::for_windows(s.window, of.at, [&](int64_t, int64_t output) {
            int64_t from = of.first + output * s.width;
            sum += ons::widen(dy[from]) * ons_lp_share(ons::widen(y[from]), s.p);
        });
        dx[i] = ons::narrow<T>(ons_lp_slope(ons::widen(x[i]), s.p) * sum);
    }
};

template <class T> void run_lp_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->inputs), shares_of_norms<T>{*s, (const T *)l->inputs[0], (const T *)l->inputs[1], (const T *)l->inputs[2],
                                                          (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_lp_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool_gradient, launch, s);
}
