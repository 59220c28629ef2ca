#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct norm_of_window {
    ons_cuda_pooling s;
    const T *x;
    T *y;
    __device__ void operator()(int64_t i) const {
        ons::pooled to = ons::pooled_of(s, i, s.outputs, s.inputs);
        const T *from = x + to.first;
        float sum = 0;
        ons::for_taps(s.window, to.at,
                      [&](int64_t, int64_t at) { sum += ons_lp_term(ons::widen(from[at * s.width]), s.p); });
        y[i] = ons::narrow<T>(ons_lp_root(sum, s.p));
    }
};

template <class T> void run_lp_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->outputs), norm_of_window<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_lp_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool, launch, s);
}
