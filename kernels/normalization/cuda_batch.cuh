/* Batch normalisation on CUDA: two sums for each channel, by parts that are added in their order, then an affine map.
 * Sums are in double around a value of the channel's own. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_CUH

#include "kernels/normalization/cuda_channels_last.cuh"

namespace ons {

/* A block for each channel and part. Σ (x - shift) and Σ (x - shift)², shift being the channel's first element; with
 * dy: Σ dy and Σ dy (x - mean). */
template <class T, class P>
__global__ void sum_channels(ons_cuda_batch s, const T *x, const T *dy, const P *means, channel_gate<P> gate,
                             double *partial) {
    uint32_t count = (uint32_t)(s.batch * s.positions);
    for (int64_t item = blockIdx.x; item < s.channels * s.parts; item += gridDim.x) {
        int64_t channel = item % s.channels, part = item / s.channels;
        uint32_t begin = (uint32_t)((uint64_t)count * part / s.parts),
                 end = (uint32_t)((uint64_t)count * (part + 1) / s.parts);
        float shift = dy != nullptr ? widen(means[channel]) : count > 0 ? widen(x[channel * s.positions]) : 0;
        open_gate<T> open = gate_of<T>(gate, channel);
        double first = 0, second = 0;
        for (uint32_t i = begin + threadIdx.x; i < end; i += ROW_THREADS) {
            int64_t at = channel_element(s, channel, i);
            float distance = widen(x[at]) - shift, slope = dy != nullptr ? open(distance, widen(dy[at])) : distance;
            first += slope;
            second += (double)slope * distance;
        }
        first = block_reduce<ROW_THREADS>(first, 0.0, add());
        second = block_reduce<ROW_THREADS>(second, 0.0, add());
        if (threadIdx.x == 0) {
            partial[2 * part * s.channels + channel] = first;
            partial[(2 * part + 1) * s.channels + channel] = second;
        }
    }
}

/* A warp for each channel: adds up the parts of its sums, in the place of the first one's, and then calls f. */
template <class F> __global__ void join_channel_parts(ons_cuda_batch s, double *partial, F f) {
    int64_t lane = threadIdx.x % WARP, stride = 2 * s.channels;
    for (int64_t c = global_thread() / WARP; c < s.channels; c += global_threads() / WARP) {
        double first = 0, second = 0;
#pragma unroll 4
        for (int64_t part = lane; part < s.parts; part += WARP) {
            first += partial[part * stride + c];
            second += partial[part * stride + s.channels + c];
        }
        first = warp_reduce(first, add());
        second = warp_reduce(second, add());
        if (lane != 0) continue;
        partial[c] = first;
        partial[s.channels + c] = second;
        f(c);
    }
}

/* Calls f for every channel when its sums are there. */
template <class F> void each_joined(const ons_launch *l, const ons_cuda_batch *s, double *partial, const F &f) {
    launch(l, join_channel_parts<F>, blocks_for(s->channels * WARP, EACH_THREADS), EACH_THREADS, *s, partial, f);
}

/* Of all parts, which have been joined. */
__device__ inline double channel_sum(const ons_cuda_batch &s, const double *partial, int which, int64_t channel) {
    return partial[which * s.channels + channel];
}

/* By channel. */
__device__ inline double values_of(const ons_cuda_batch &s) { return (double)s.batch * (double)s.positions; }

/* As ons_batch_training_correct has it. */
__device__ inline double correction_of(const ons_cuda_batch &s, double n) {
    return s.unbiased && n > 1 ? n / (n - 1) : 1;
}

/* From sums around any value of the channel's. */
__device__ inline double channel_variance(const ons_cuda_batch &s, const double *partial, int64_t channel) {
    double n = values_of(s), offset = channel_sum(s, partial, 0, channel) / n;
    return fmax(channel_sum(s, partial, 1, channel) / n - offset * offset, 0.0);
}

/* What the replicas that are met (none: `count` 0) have told, one behind the other, each as ons_batch_share_size says.
 */
struct channel_shares {
    const double *all;
    uint32_t count;
    __device__ double values(const ons_cuda_batch &s, uint32_t replica) const {
        return all[replica * (1 + 2 * s.channels)];
    }
    __device__ double at(const ons_cuda_batch &s, uint32_t replica, int which, int64_t channel) const {
        return all[replica * (1 + 2 * s.channels) + 1 + which * s.channels + channel];
    }
    __device__ double all_values(const ons_cuda_batch &s) const {
        double n = 0;
        for (uint32_t i = 0; i < count; ++i) n += values(s, i);
        return n;
    }
};

__device__ inline void tell(const ons_cuda_batch &s, double *own, int64_t channel, double first, double second) {
    if (channel == 0) own[0] = values_of(s);
    own[1 + channel] = first;
    own[1 + s.channels + channel] = second;
}

/* `telling` is called for each channel, and writes this replica's share to where its member `own` says. */
template <class Telling>
channel_shares meet(const ons_launch *l, const ons_cuda_batch *s, double *partial, Telling telling) {
    if (s->replicas == 1 || l->replicas == nullptr) return {nullptr, 0};
    double *all = (double *)(void *)((char *)l->scratch + s->shares_at);
    int64_t size = ons_batch_share_size(s->channels);
    telling.own = all + l->replicas->own * size;
    each_joined(l, s, partial, telling);
    return {all, l->replicas->gather(l->replicas, all, (size_t)size)};
}

/* Calls f for every channel, with its sums; those that replicas have met with are joined by now. */
template <class F>
void finish_channels(const ons_launch *l, const ons_cuda_batch *s, double *partial, const channel_shares &met,
                     const F &f) {
    if (met.count > 0)
        each(l, s->channels, f);
    else
        each_joined(l, s, partial, f);
}

/* Of a channel's values. */
struct moments {
    double mean, variance;
};

/* Everything by channel; nullptr where nobody reads it. P: the parameters' type, T or float. */
template <class P> struct channel_results {
    P *mean, *variance; /* the running ones, renewed */
    P *saved_mean, *saved_inverse, *saved_slope;
};

template <class T>
__device__ moments moments_here(const ons_cuda_batch &s, const double *partial, const T *x, int64_t c) {
    double offset = channel_sum(s, partial, 0, c) / values_of(s);
    return {(double)widen(x[s.last ? c : c * s.positions]) + offset, channel_variance(s, partial, c)};
}

/* Of all that are met, in the order of the replicas. */
__device__ inline moments moments_together(const ons_cuda_batch &s, const channel_shares &met, int64_t c, double n) {
    moments m = {0, 0};
    for (uint32_t i = 0; i < met.count; ++i) m.mean += met.values(s, i) * met.at(s, i, 0, c) / n;
    for (uint32_t i = 0; i < met.count; ++i) {
        double apart = met.at(s, i, 0, c) - m.mean;
        m.variance += met.values(s, i) * (met.at(s, i, 1, c) + apart * apart) / n;
    }
    return m;
}

/* What this replica tells of the moments of its channels. */
template <class T> struct tell_moments {
    ons_cuda_batch s;
    const double *partial;
    const T *x;
    double *own;
    __device__ void operator()(int64_t c) const {
        moments m = moments_here(s, partial, x, c);
        tell(s, own, c, m.mean, m.variance);
    }
};

template <class T, class P> struct finish_training {
    ons_cuda_batch s;
    channel_maps maps;
    channel_shares met;
    const T *x;
    const P *scale, *bias, *mean_before, *variance_before;
    channel_results<P> results;
    __device__ void operator()(int64_t c) const {
        double n = met.count > 0 ? met.all_values(s) : values_of(s), keep = s.momentum;
        moments m = met.count > 0 ? moments_together(s, met, c, n) : moments_here(s, maps.partial, x, c);
        double mean = m.mean, variance = m.variance;
        double inverse = 1 / sqrt(variance + s.epsilon);
        maps.shift[c] = (float)mean;
        maps.scale[c] = (float)(widen(scale[c]) * inverse);
        maps.rest[c] = widen(bias[c]);
        if (results.saved_mean != nullptr) results.saved_mean[c] = narrow<P>((float)mean);
        if (results.saved_inverse != nullptr) results.saved_inverse[c] = narrow<P>((float)inverse);
        if (results.saved_slope != nullptr) results.saved_slope[c] = narrow<P>(maps.scale[c]);
        if (results.mean != nullptr)
            results.mean[c] = narrow<P>((float)(keep * widen(mean_before[c]) + (1 - keep) * mean));
        if (results.variance != nullptr)
            results.variance[c] =
                narrow<P>((float)(keep * widen(variance_before[c]) + (1 - keep) * variance * correction_of(s, n)));
    }
};

template <class P> struct finish_inference {
    ons_cuda_batch s;
    channel_maps maps;
    const P *scale, *bias, *mean, *variance;
    __device__ void operator()(int64_t c) const {
        maps.shift[c] = widen(mean[c]);
        maps.scale[c] = (float)(widen(scale[c]) / sqrt(widen(variance[c]) + s.epsilon));
        maps.rest[c] = widen(bias[c]);
    }
};

template <bool LAST, class T>
void apply_channel_maps_to(const ons_launch *l, const ons_cuda_batch *s, const channel_maps &maps, const T *x,
                           const map_operands<T> &o, T *to) {
    int64_t elements = s->batch * s->channels * s->positions;
    size_t wide = 4 * sizeof(T);
    bool fours = (LAST ? s->channels : s->positions) % 4 == 0;
    bool aligned = is_aligned(x, wide) && is_aligned(to, wide) && is_aligned(o.dy, wide) &&
                   is_aligned(o.residual, wide) && is_aligned(o.gate_scale, 4 * sizeof(float)) &&
                   is_aligned(o.gate_rest, 4 * sizeof(float));
    if (fours && aligned)
        each(l, elements / 4, map_channels<4, LAST, T>{*s, maps, x, o, to});
    else
        each(l, elements, map_channels<1, LAST, T>{*s, maps, x, o, to});
}

template <class T>
void apply_channel_maps(const ons_launch *l, const ons_cuda_batch *s, const channel_maps &maps, const T *x,
                        const map_operands<T> &o, T *to) {
    constexpr int PACK = channel_pack<T>::COUNT;
    if (to == nullptr || s->channels == 0) return;
    bool backwards = o.dy != nullptr;
    if (has_channel_packs(s, x, backwards ? o.dy : o.residual, to)) {
        int64_t parts = parts_to_map(s), blocks = (s->channels / PACK + s->tile - 1) / s->tile * parts;
        launch(l, backwards ? map_channels_last<PACK, true, T> : map_channels_last<PACK, false, T>, blocks, ROW_THREADS,
               *s, maps, x, o, to, parts);
    } else if (s->last)
        apply_channel_maps_to<true>(l, s, maps, x, o, to);
    else
        apply_channel_maps_to<false>(l, s, maps, x, o, to);
}

template <int PACK, class T, class P>
void sum_last(const ons_launch *l, const ons_cuda_batch *s, const channel_maps &maps, const T *x, const T *dy,
              const P *means, const channel_gate<P> &gate) {
    int64_t blocks = (s->channels / PACK + s->tile - 1) / s->tile * s->parts;
    launch(l, dy != nullptr ? sum_channels_last<PACK, true, T, P> : sum_channels_last<PACK, false, T, P>, blocks,
           ROW_THREADS, *s, x, dy, means, gate, maps.partial);
}

template <class T, class P>
void sum_by_channel(const ons_launch *l, const ons_cuda_batch *s, const channel_maps &maps, const T *x, const T *dy,
                    const P *means, const channel_gate<P> &gate = {}) {
    constexpr int PACK = channel_pack<T>::COUNT;
    if (!s->last)
        launch(l, sum_channels<T, P>, s->channels * s->parts, ROW_THREADS, *s, x, dy, means, gate, maps.partial);
    else if (has_channel_packs<T>(s, x, dy, (const T *)nullptr))
        sum_last<PACK, T, P>(l, s, maps, x, dy, means, gate);
    else
        sum_last<1, T, P>(l, s, maps, x, dy, means, gate);
}

/* Input `index` as elements of type E. */
template <class E> const E *input_of(const ons_launch *l, int index) { return (const E *)l->inputs[index]; }

template <class T, class P>
void run_batch_training(const ons_launch *l, const ons_cuda_batch *s, const channel_results<P> &results) {
    const T *x = input_of<T>(l, 0);
    if (s->batch * s->positions == 0) return; /* an empty batch changes nothing */
    channel_maps maps = channel_maps_of(l, s);
    sum_by_channel<T, P>(l, s, maps, x, nullptr, nullptr);
    channel_shares met = meet(l, s, maps.partial, tell_moments<T>{*s, maps.partial, x, nullptr});
    finish_channels(l, s, maps.partial, met,
                    finish_training<T, P>{*s, maps, met, x, input_of<P>(l, 1), input_of<P>(l, 2), input_of<P>(l, 3),
                                          input_of<P>(l, 4), results});
    const T *residual = s->added ? input_of<T>(l, 5) : nullptr;
    apply_channel_maps<T>(l, s, maps, x, {s->activation, residual, nullptr, nullptr, nullptr}, (T *)l->outputs[0]);
}

/* Runs Run<T, P>::run for the types of a node. */
template <template <class, class> class Run> void dispatch_batch(const ons_launch *l, const ons_cuda_batch *s) {
    bool full = s->parameters == ONS_FLOAT32;
    if (s->dtype == ONS_FLOAT32)
        Run<float, float>::run(l, s);
    else if (s->dtype == ONS_FLOAT16)
        full ? Run<__half, float>::run(l, s) : Run<__half, __half>::run(l, s);
    else
        full ? Run<__nv_bfloat16, float>::run(l, s) : Run<__nv_bfloat16, __nv_bfloat16>::run(l, s);
}

} // namespace ons

#endif
