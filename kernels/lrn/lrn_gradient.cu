#include "kernels/lrn/cuda_local_response.cuh"

namespace {

/* dx = dy s^-β - 2 weight β x Σ dy x s^(-β - 1), the sum over the channels whose windows hold this one. */
template <class T> struct response_slope {
    ons_local_response l;
    const T *dy, *x;
    T *dx;
    __device__ void operator()(int64_t i) const {
        int64_t channel = i / l.size.positions % l.size.channels;
        float sum = 0, own = 0;
        for (int64_t c = -l.after; c <= l.before; ++c) {
            if (channel + c < 0 || channel + c >= l.size.channels) continue;
            int64_t at = i + c * l.size.positions;
            float s = ons::local_sum(l, x, at, channel + c), power = powf(s, -l.beta), slope = ons::widen(dy[at]);
            if (c == 0) own = slope * power;
            sum += slope * ons::widen(x[at]) * power / s;
        }
        dx[i] = ons::narrow<T>(own - 2 * l.weight * l.beta * ons::widen(x[i]) * sum);
    }
};

template <class T> void run_lrn_gradient(const ons_launch *l, const ons_local_response *s) {
    ons::each(l, s->size.batch * s->size.channels * s->size.positions,
              response_slope<T>{*s, (const T *)l->inputs[0], (const T *)l->inputs[1], (T *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_lrn_gradient(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_local_response, run_lrn_gradient, launch);
}
