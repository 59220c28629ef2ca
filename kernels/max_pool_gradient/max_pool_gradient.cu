#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct shares_of_maxima {
    ons_cuda_pooling s;
    const T *dy;
    const void *positions;
    T *dx;
    __device__ void operator()(int64_t i) const {
        ons::pooled of = ons::pooled_of(s, i, s.inputs, s.outputs);
        float sum = 0;
        ons::for_windows(s.window, of.at, [&](int64_t tap, int64_t output) {
            int64_t from = of.first + output * s.width;
            int64_t found = s.wide_position ? (int64_t)((const int32_t *)positions)[from]
                                            : (int64_t)((const uint8_t *)positions)[from];
            if (found == tap) sum += ons::widen(dy[from]);
        });
        dx[i] = ons::narrow<T>(sum);
    }
};

template <class T> void run_max_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->inputs), shares_of_maxima<T>{*s, (const T *)l->inputs[0], l->inputs[1], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_max_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_max_pool_gradient, launch, s);
}
