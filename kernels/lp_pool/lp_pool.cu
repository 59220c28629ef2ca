#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct norm_of_window {
    ons_cuda_pooling s;
    const T *x;
    T *y;
    __device__ void operator()(int64_t i) const {
        int64_t plane = i / s.outputs;
        const T *from = x + plane * s.inputs;
        float sum = 0;
        ons::for_taps(s.window, i - plane * s.outputs,
                      [&](int64_t, int64_t at) { sum += ons_lp_term(ons::widen(from[at]), s.p); });
        y[i] = ons::narrow<T>(ons_lp_root(sum, s.p));
    }
};

template <class T> void run_lp_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, s->planes * s->outputs, norm_of_window<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_lp_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_lp_pool, launch, s);
}
