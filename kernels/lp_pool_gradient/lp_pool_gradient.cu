#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct shares_of_norms {
    ons_cuda_pooling s;
    const T *dy, *x, *y;
    T *dx;
    __device__ void operator()(int64_t i) const {
        int64_t plane = i / s.inputs, first = plane * s.outputs;
        float sum = 0;
        ons::for_windows(s.window, i - plane * s.inputs, [&](int64_t, int64_t output) {
            sum += ons::widen(dy[first + output]) * ons_lp_share(ons::widen(y[first + output]), s.p);
        });
        dx[i] = ons::narrow<T>(ons_lp_slope(ons::widen(x[i]), s.p) * sum);
    }
};

template <class T> void run_lp_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, s->planes * s->inputs, shares_of_norms<T>{*s, (const T *)l->inputs[0], (const T *)l->inputs[1], (const T *)l->inputs[2],
                                                          (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_lp_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool_gradient, launch, s);
}
