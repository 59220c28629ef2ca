#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct shares_of_averages {
    ons_cuda_pooling s;
    const T *dy;
    T *dx;
    __device__ void operator()(int64_t i) const {
        ons::pooled of = ons::pooled_of(s, i, s.inputs, s.outputs);
        const T *from = dy + of.first;
        float sum = 0;
        ons::for_windows(s.window, of.at, [&](int64_t, int64_t output) {
            sum += ons::widen(from[output * s.width]) / (float)ons::average_divisor(s.window, s.include_pad, output);
        });
        dx[i] = ons::narrow<T>(sum);
    }
};

template <class T> void run_average_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->inputs), shares_of_averages<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_average_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    if (s->plan != nullptr) return ons_cuda_pooling_run(s, launch, launch->outputs[0], launch->inputs[0]);
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_average_pool_gradient, launch, s);
}
