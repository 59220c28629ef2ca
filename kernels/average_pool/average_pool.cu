#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct average_of_window {
    ons_cuda_pooling s;
    const T *x;
    T *y;
    __device__ void operator()(int64_t i) const {
        ons::pooled to = ons::pooled_of(s, i, s.outputs, s.inputs);
        const T *from = x + to.first;
        float sum = 0;
        ons::for_taps(s.window, to.at, [&](int64_t, int64_t at) { sum += ons::widen(from[at * s.width]); });
        y[i] = ons::narrow<T>(sum / (float)ons::average_divisor(s.window, s.include_pad, to.at));
    }
};

template <class T> void run_average_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->outputs), average_of_window<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_average_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    if (s->plan != nullptr) return ons_cuda_pooling_run(s, launch, launch->inputs[0], launch->outputs[0]);
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_average_pool, launch, s);
}
