#include "kernels/normalization/cuda_batch.cuh"

namespace {

/* What this replica tells of its channels' sums. */
struct tell_sums {
    ons_cuda_batch s;
    const double *partial;
    double *own;
    __device__ void operator()(int64_t c) const {
        ons::tell(s, own, c, ons::channel_sum(s, partial, 0, c), ons::channel_sum(s, partial, 1, c));
    }
};

/* Of all that are met, in the order of the replicas. */
__device__ double sum_together(const ons_cuda_batch &s, const ons::channel_shares &met, int which, int64_t c) {
    double sum = 0;
    for (uint32_t i = 0; i < met.count; ++i) sum += met.at(s, i, which, c);
    return sum;
}

template <class P> struct finish_gradient {
    ons_cuda_batch s;
    ons::channel_maps maps;
    ons::channel_shares met;
    bool sums;
    const P *scale, *mean, *second; /* second: the inverse deviation or, of running statistics, the variance */
    P *dscale, *dbias;
    __device__ void operator()(int64_t c) const {
        double n = met.count > 0 ? met.all_values(s) : ons::values_of(s), given = ons::widen(second[c]);
        double inverse = s.constant ? 1 / sqrt(given + s.epsilon) : given, slope = ons::widen(scale[c]) * inverse;
        maps.shift[c] = ons::widen(mean[c]);
        maps.scale[c] = (float)slope;
        maps.factor[c] = maps.rest[c] = 0;
        if (!sums) return;
        double bias = ons::channel_sum(s, maps.partial, 0, c), product = ons::channel_sum(s, maps.partial, 1, c);
        if (!s.constant) {
            double all_bias = met.count > 0 ? sum_together(s, met, 0, c) : bias;
            double all_product = met.count > 0 ? sum_together(s, met, 1, c) : product;
            maps.factor[c] = (float)(-slope * inverse * inverse * all_product / n);
            maps.rest[c] = (float)(-slope * all_bias / n);
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
        bool gated = s->activation.kind != ONS_BATCH_PLAIN;
        ons::channel_gate<P> gate = {s->activation, gated ? in[6] : nullptr, gated ? in[5] : nullptr};
        if (sums) ons::sum_by_channel<T, P>(l, s, maps, x, dy, in[3], gate);
        ons::channel_shares met = ons::meet(l, s, maps.partial, tell_sums{*s, maps.partial, nullptr});
        finish_gradient<P> finish = {*s, maps, met, sums, in[2], in[3], in[4], out[1], out[2]};
        if (sums)
            ons::finish_channels(l, s, maps.partial, met, finish);
        else
            ons::each(l, s->channels, finish);
        const float *const *full = (const float *const *)l->inputs; /* the gate's, see inference of shapes */
        ons::map_operands<T> operands = {s->activation, nullptr, dy, gated ? full[6] : nullptr,
                                         gated ? full[5] : nullptr};
        ons::apply_channel_maps<T>(l, s, maps, x, operands, (T *)l->outputs[0]);
    }
};

} // namespace

extern "C" void ons_cuda_run_batch_normalization_gradient(const ons_launch *launch) {
    const ons_cuda_batch *s = (const ons_cuda_batch *)launch->state;
    ons::dispatch_batch<batch_gradient>(launch, s);
}
