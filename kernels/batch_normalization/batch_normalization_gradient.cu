#include "kernels/normalization/cuda_batch.cuh"

namespace {

template <class P> struct finish_gradient {
    ons_cuda_batch s;
    ons::channel_maps maps;
    bool sums;
    const P *scale, *mean, *second; /* second: the inverse deviation or, of running statistics, the variance */
    P *dscale, *dbias;
    __device__ void operator()(int64_t c) const {
        double n = (double)s.batch * (double)s.positions, given = ons::widen(second[c]);
        double inverse = s.constant ? 1 / sqrt(given + s.epsilon) : given, slope = ons::widen(scale[c]) * inverse;
        maps.shift[c] = ons::widen(mean[c]);
        maps.scale[c] = (float)slope;
        maps.factor[c] = maps.rest[c] = 0;
        if (!sums) return;
        double bias = ons::channel_sum(s, maps.partial, 0, c), product = ons::channel_sum(s, maps.partial, 1, c);
        if (!s.constant) {
            maps.factor[c] = (float)(-slope * inverse * inverse * product / n);
            maps.rest[c] = (float)(-slope * bias / n);
        }
        if (dscale != nullptr) dscale[c] = ons::narrow<P>((float)(product * inverse));
        if (dbias != nullptr) dbias[c] = ons::narrow<P>((float)bias);
    }
};

template <class T, class P> struct batch_gradient {
    static void run(const ons_launch *l, const ons_cuda_batch *s) {
        const T *dy = ons::input_of<T>(l, 0), *x = ons::input_of<T>(l, 1);
        const P *const *in = (const P *const *)l->inputs;
        P *const *out = (P *const *)l->outputs;
        bool sums = !s->constant || out[1] != nullptr || out[2] != nullptr;
        ons::channel_maps maps = ons::channel_maps_of(l, s);
        if (sums) ons::sum_by_channel<T, P>(l, s, maps, x, dy, in[3]);
        ons::each(l, s->channels, finish_gradient<P>{*s, maps, sums, in[2], in[3], in[4], out[1], out[2]});
        ons::apply_channel_maps<T>(l, s, maps, x, dy, (T *)l->outputs[0]);
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization_gradient(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    if (s->plan != nullptr) return ons_cuda_batch_run_gradient(s, launch);
    ons::dispatch_batch<batch_gradient>(launch, s);
}
