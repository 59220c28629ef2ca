#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct shares_of_maxima {
    ons_cuda_pooling s;
    const T *dy;
    const void *positions;
    T *dx;
    __device__ void operator()(int64_t i) const {
        int64_t plane = i / s.inputs, first = plane * s.outputs;
        float sum = 0;
        ons::for_windows(s.window, i - plane * s.inputs, [&](int64_t tap, int64_t output) {
            int64_t found = s.wide_position ? (int64_t)((const int32_t *)positions)[first + output]
                                            : (int64_t)((const uint8_t *)positions)[first + output];
            if (found == tap) sum += ons::widen(dy[first + output]);
        });
        dx[i] = ons::narrow<T>(sum);
    }
};

template <class T> void run_max_pool_gradient(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, s->planes * s->inputs, shares_of_maxima<T>{*s, (const T *)l->inputs[0], l->inputs[1], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_max_pool_gradient(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_max_pool_gradient, launch, s);
}
