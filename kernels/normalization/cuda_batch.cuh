/* Batch normalisation on CUDA: two sums for each channel, by parts that are added in their order, then an affine map.
 * Sums are in double around a value of the channel's own. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_BATCH_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/normalization/cuda_batch.h"
}

namespace ons {

/* Per channel: y = (x - shift) × scale + rest, dx = dy × scale + (x - shift) × factor + rest. */
struct channel_maps {
    double *partial;
    float *shift, *scale, *rest, *factor;
};

inline channel_maps channel_maps_of(const ons_launch *l, const ons_cuda_batch *s) {
    double *partial = (double *)l->scratch;
    float *shift = (float *)(partial + 2 * s->parts * s->channels);
    return {partial, shift, shift + s->channels, shift + 2 * s->channels, shift + 3 * s->channels};
}

__device__ inline int64_t channel_element(const ons_cuda_batch &s, int64_t channel, uint32_t i) {
    uint32_t positions = (uint32_t)s.positions, sample = i / positions;
    return (sample * s.channels + channel) * s.positions + (i - sample * positions);
}

/* The map forwards. Gradients make it again, to know what the activation does to its result. */
__device__ inline float channel_map(float distance, float scale, float rest) { return distance * scale + rest; }

/* The activation behind the normalisation, whose gradient lets dy through by what the result was. By channel. */
template <class P> struct channel_gate {
    ons_batch_activation activation;
    const P *scale, *rest; /* of the map forwards; nullptr: there is no activation */
};

/* The gate of one channel; T: the result's type, to which it was rounded. */
template <class T> struct open_gate {
    ons_batch_activation activation;
    float scale, rest;
    __device__ float operator()(float distance, float slope) const {
        return activation.kind == ONS_BATCH_PLAIN ||
                       ons_batch_is_open(activation, widen(narrow<T>(channel_map(distance, scale, rest))))
                   ? slope
                   : 0;
    }
};

template <class T, class P> __device__ inline open_gate<T> gate_of(const channel_gate<P> &gate, int64_t channel) {
    if (gate.scale == nullptr) return {};
    return {gate.activation, widen(gate.scale[channel]), widen(gate.rest[channel])};
}

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

constexpr int LAST_RUN = 16; /* summed in float before it goes into a double */

/* Every `stride`-th position from `begin` to `end`. */
struct position_range {
    int64_t begin, end, stride;
};

/* Positions whose values a thread has asked for at once; sums of gradients have no registers for as many. */
constexpr int IN_FLIGHT = 4, GRADIENTS_IN_FLIGHT = 2;

/* Sums of a thread with channels last: of PACK channels, column `column` of `width`, at some positions. Distances are
 * from the mean, or, where there is none yet, from the first position's value. */
template <int PACK, bool GRADIENT, class T, class P> struct column_sums {
    const pack<T, PACK> *x, *dy;
    int64_t column, width;
    float shift[PACK], gate_scale[PACK], gate_rest[PACK];
    ons_batch_activation activation;

    __device__ column_sums(const T *x, const T *dy, const P *means, const channel_gate<P> &gate, int64_t column,
                           int64_t width)
        : x(reinterpret_cast<const pack<T, PACK> *>(x)), dy(reinterpret_cast<const pack<T, PACK> *>(dy)),
          column(column), width(width), activation(gate.activation) {
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
            int64_t channel = column * PACK + k;
            shift[k] = GRADIENT ? widen(means[channel]) : widen(x[channel]);
            gate_scale[k] = gate.scale == nullptr ? 0 : widen(gate.scale[channel]);
            gate_rest[k] = gate.scale == nullptr ? 0 : widen(gate.rest[channel]);
        }
    }

    /* Of COUNT positions from `i` on. */
    template <int COUNT>
    __device__ void add(int64_t i, int64_t stride, float (&near)[PACK], float (&square)[PACK]) const {
        pack<T, PACK> values[COUNT], slopes[COUNT];
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            values[n] = x[(i + n * stride) * width + column];
            if (GRADIENT) slopes[n] = dy[(i + n * stride) * width + column];
        }
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
#pragma unroll
            for (int k = 0; k < PACK; ++k) {
                float distance = widen(values[n].at[k]) - shift[k];
                const open_gate<T> open = {activation, gate_scale[k], gate_rest[k]};
                float slope = GRADIENT ? open(distance, widen(slopes[n].at[k])) : distance;
                near[k] += slope;
                square[k] += slope * distance;
            }
    }

    __device__ void run(const position_range &range, double (&first)[PACK], double (&second)[PACK]) const {
        constexpr int AT_ONCE = GRADIENT ? GRADIENTS_IN_FLIGHT : IN_FLIGHT;
        int64_t i = range.begin;
        while (i < range.end) {
            float near[PACK] = {}, square[PACK] = {};
            int run = 0;
            for (; run < LAST_RUN && i + (AT_ONCE - 1) * range.stride < range.end; run += AT_ONCE) {
                add<AT_ONCE>(i, range.stride, near, square);
                i += AT_ONCE * range.stride;
            }
            for (; run < LAST_RUN && i < range.end; ++run, i += range.stride) add<1>(i, range.stride, near, square);
#pragma unroll
            for (int k = 0; k < PACK; ++k) {
                first[k] += near[k];
                second[k] += square[k];
            }
        }
    }
};

/* Adds up what the rows of a block's threads have for each channel of the tile, and writes it. */
template <int PACK>
__device__ inline void sum_rows(const ons_cuda_batch &s, const double (&lanes)[2][ROW_THREADS][PACK], int64_t column,
                                int64_t part, double *partial) {
    int across = s.tile * PACK, rows = ROW_THREADS / s.tile;
    for (int i = (int)threadIdx.x; i < 2 * across; i += ROW_THREADS) {
        int which = i / across, lane = i % across / PACK, k = i % PACK;
        int64_t channel = (column + lane) * PACK + k;
        if (channel >= s.channels) continue;
        double sum = 0;
        for (int row = 0; row < rows; ++row) sum += lanes[which][row * s.tile + lane][k];
        partial[(2 * part + which) * s.channels + channel] = sum;
    }
}

/* Sums with channels last: threads side by side have PACK channels each, s.tile of them, and rows of threads take every
 * ROW_THREADS / s.tile-th position. */
template <int PACK, bool GRADIENT, class T, class P>
__global__ void __launch_bounds__(ROW_THREADS, 2)
    sum_channels_last(ons_cuda_batch s, const T *x, const T *dy, const P *means, channel_gate<P> gate,
                      double *partial) {
    __shared__ double lanes[2][ROW_THREADS][PACK];
    int64_t count = s.batch * s.positions, width = s.channels / PACK, across = (width + s.tile - 1) / s.tile;
    int rows = ROW_THREADS / s.tile, row = (int)threadIdx.x / s.tile;
    for (int64_t item = blockIdx.x; item < across * s.parts; item += gridDim.x) {
        int64_t tile = item % across * s.tile, column = tile + threadIdx.x % s.tile, part = item / across;
        int64_t begin = count * part / s.parts, end = count * (part + 1) / s.parts;
        double first[PACK] = {}, second[PACK] = {};
        if (column < width && count > 0) {
            column_sums<PACK, GRADIENT, T, P> sums(x, dy, means, gate, column, width);
            sums.run({begin + row, end, rows}, first, second);
        }
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
            lanes[0][threadIdx.x][k] = first[k];
            lanes[1][threadIdx.x][k] = second[k];
        }
        __syncthreads();
        sum_rows<PACK>(s, lanes, tile, part, partial);
        __syncthreads();
    }
}

/* A warp for each sum: adds up the parts, in the place of the first one's. */
[[maybe_unused]] static __global__ void join_channel_parts(ons_cuda_batch s, double *partial) {
    int64_t lane = threadIdx.x % WARP, sums = 2 * s.channels;
    for (int64_t i = global_thread() / WARP; i < sums; i += global_threads() / WARP) {
        double sum = 0;
#pragma unroll 4
        for (int64_t part = lane; part < s.parts; part += WARP) sum += partial[part * sums + i];
        sum = warp_reduce(sum, add());
        if (lane == 0) partial[i] = sum;
    }
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
template <class Telling> channel_shares meet(const ons_launch *l, const ons_cuda_batch *s, Telling telling) {
    if (s->replicas == 1 || l->replicas == nullptr) return {nullptr, 0};
    double *all = (double *)(void *)((char *)l->scratch + s->shares_at);
    int64_t size = ons_batch_share_size(s->channels);
    telling.own = all + l->replicas->own * size;
    each(l, s->channels, telling);
    return {all, l->replicas->gather(l->replicas, all, (size_t)size)};
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

/* One value for COUNT neighbours of a channel, or those of COUNT channels side by side. */
template <int COUNT, bool LAST>
__device__ inline pack<float, COUNT> channel_values(const float *values, int64_t first) {
    pack<float, COUNT> result;
    if (LAST) return *reinterpret_cast<const pack<float, COUNT> *>(values + first);
    float value = values[first];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) result.at[k] = value;
    return result;
}

/* What the map is of beside x: forwards, or of a gradient. nullptr where it is not there. */
template <class T> struct map_operands {
    ons_batch_activation activation;
    const T *residual; /* is added */
    const T *dy;       /* backwards */
    const float *gate_scale, *gate_rest;
};

/* One element. Forwards rounded as by two nodes. */
template <class T>
__device__ inline T map_forwards(const ons_batch_activation &activation, bool adds, float distance, float scale,
                                 float rest, T residual) {
    float result = channel_map(distance, scale, rest);
    if (adds) result = widen(narrow<T>(result)) + widen(residual);
    return narrow<T>(ons_batch_activate(activation, widen(narrow<T>(result))));
}
template <class T>
__device__ inline T map_backwards(const open_gate<T> &open, float distance, T slope, float scale, float factor,
                                  float rest) {
    return narrow<T>(open(distance, widen(slope)) * scale + distance * factor + rest);
}

/* COUNT neighbouring elements, of one channel or, with channels last, of as many. y may be x, or residual. */
template <int COUNT, bool LAST, class T> struct map_channels {
    ons_cuda_batch s;
    channel_maps maps;
    const T *x;
    map_operands<T> o;
    T *to;
    __device__ void operator()(int64_t i) const {
        int64_t first = (LAST ? i * COUNT : i * COUNT / s.positions) % s.channels;
        pack<float, COUNT> shift = channel_values<COUNT, LAST>(maps.shift, first), factor = {}, gate_scale = {},
                           gate_rest = {};
        pack<float, COUNT> scale = channel_values<COUNT, LAST>(maps.scale, first);
        pack<float, COUNT> rest = channel_values<COUNT, LAST>(maps.rest, first);
        if (o.dy != nullptr) factor = channel_values<COUNT, LAST>(maps.factor, first);
        if (o.gate_scale != nullptr) {
            gate_scale = channel_values<COUNT, LAST>(o.gate_scale, first);
            gate_rest = channel_values<COUNT, LAST>(o.gate_rest, first);
        }
        pack<T, COUNT> values = reinterpret_cast<const pack<T, COUNT> *>(x)[i], others = {};
        if (o.dy != nullptr) others = reinterpret_cast<const pack<T, COUNT> *>(o.dy)[i];
        if (o.residual != nullptr) others = reinterpret_cast<const pack<T, COUNT> *>(o.residual)[i];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            float distance = widen(values.at[k]) - shift.at[k];
            open_gate<T> open = {o.activation, gate_scale.at[k], gate_rest.at[k]};
            values.at[k] =
                o.dy == nullptr
                    ? map_forwards(o.activation, o.residual != nullptr, distance, scale.at[k], rest.at[k], others.at[k])
                    : map_backwards(open, distance, others.at[k], scale.at[k], factor.at[k], rest.at[k]);
        }
        reinterpret_cast<pack<T, COUNT> *>(to)[i] = values;
    }
};

/* With channels last a thread has the same PACK channels at many positions, laid out as in sum_channels_last, and reads
 * what it needs of them once. */
template <int PACK, bool BACKWARDS, class T> struct map_column {
    const pack<T, PACK> *x, *others;
    pack<T, PACK> *to;
    int64_t column, width;
    ons_batch_activation activation;
    pack<float, PACK> shift, scale, rest, factor;
    float gate_scale[PACK], gate_rest[PACK];

    __device__ map_column(const channel_maps &maps, const T *from, const map_operands<T> &o, T *result, int64_t column,
                          int64_t width)
        : x(reinterpret_cast<const pack<T, PACK> *>(from)),
          others(reinterpret_cast<const pack<T, PACK> *>(BACKWARDS ? o.dy : o.residual)),
          to(reinterpret_cast<pack<T, PACK> *>(result)), column(column), width(width), activation(o.activation),
          shift(channel_values<PACK, true>(maps.shift, column * PACK)),
          scale(channel_values<PACK, true>(maps.scale, column * PACK)),
          rest(channel_values<PACK, true>(maps.rest, column * PACK)), factor{} {
        if (!BACKWARDS) return;
        factor = channel_values<PACK, true>(maps.factor, column * PACK);
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
            gate_scale[k] = o.gate_scale == nullptr ? 0 : o.gate_scale[column * PACK + k];
            gate_rest[k] = o.gate_scale == nullptr ? 0 : o.gate_rest[column * PACK + k];
        }
    }

    template <int COUNT> __device__ void map(int64_t i, int64_t stride) const {
        pack<T, PACK> values[COUNT], beside[COUNT] = {};
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            int64_t at = (i + n * stride) * width + column;
            values[n] = x[at];
            if (BACKWARDS || others != nullptr) beside[n] = others[at];
        }
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
#pragma unroll
            for (int k = 0; k < PACK; ++k) {
                float distance = widen(values[n].at[k]) - shift.at[k];
                const open_gate<T> open = {activation, gate_scale[k], gate_rest[k]};
                values[n].at[k] =
                    BACKWARDS ? map_backwards(open, distance, beside[n].at[k], scale.at[k], factor.at[k], rest.at[k])
                              : map_forwards(activation, others != nullptr, distance, scale.at[k], rest.at[k],
                                             beside[n].at[k]);
            }
            to[(i + n * stride) * width + column] = values[n];
        }
    }
};

template <int PACK, bool BACKWARDS, class T>
__global__ void __launch_bounds__(ROW_THREADS, 2)
    map_channels_last(ons_cuda_batch s, channel_maps maps, const T *x, map_operands<T> o, T *to, int64_t parts) {
    int64_t count = s.batch * s.positions, width = s.channels / PACK, across = (width + s.tile - 1) / s.tile;
    int64_t rows = ROW_THREADS / s.tile, row = threadIdx.x / s.tile;
    for (int64_t item = blockIdx.x; item < across * parts; item += gridDim.x) {
        int64_t column = item % across * s.tile + threadIdx.x % s.tile, part = item / across;
        int64_t i = count * part / parts + row, end = count * (part + 1) / parts;
        if (column >= width || i >= end) continue;
        map_column<PACK, BACKWARDS, T> map(maps, x, o, to, column, width);
        for (; i + (IN_FLIGHT - 1) * rows < end; i += IN_FLIGHT * rows) map.template map<IN_FLIGHT>(i, rows);
        for (; i < end; i += rows) map.template map<1>(i, rows);
    }
}

/* What a thread reads of channels that lie side by side: 16 bytes. */
template <class T> struct channel_pack { static constexpr int COUNT = 16 / (int)sizeof(T); };

/* Whether channels lie side by side in such packs, in all that is read and written. */
template <class T> bool has_channel_packs(const ons_cuda_batch *s, const T *x, const T *beside, const T *to) {
    constexpr size_t BYTES = 16;
    return s->last && s->pack == channel_pack<T>::COUNT && is_aligned(x, BYTES) && is_aligned(beside, BYTES) &&
           is_aligned(to, BYTES);
}

/* As many blocks as keep a GPU busy, each with positions enough for what it reads of its channels first. */
inline int64_t parts_to_map(const ons_cuda_batch *s) {
    int64_t across = (s->channels / s->pack + s->tile - 1) / s->tile, rows = ROW_THREADS / s->tile;
    int64_t enough = BLOCKS_ENOUGH / across + 1, most = s->batch * s->positions / (rows * IN_FLIGHT) + 1;
    return enough < most ? enough : most;
}

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
    if (to == nullptr) return;
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
    if (s->parts > 1)
        launch(l, join_channel_parts, blocks_for(2 * s->channels * WARP, EACH_THREADS), EACH_THREADS, *s, maps.partial);
}

/* Input `index` as elements of type E. */
template <class E> const E *input_of(const ons_launch *l, int index) { return (const E *)l->inputs[index]; }

template <class T, class P>
void run_batch_training(const ons_launch *l, const ons_cuda_batch *s, const channel_results<P> &results) {
    const T *x = input_of<T>(l, 0);
    if (s->batch * s->positions == 0) return; /* an empty batch changes nothing */
    channel_maps maps = channel_maps_of(l, s);
    sum_by_channel<T, P>(l, s, maps, x, nullptr, nullptr);
    channel_shares met = meet(l, s, tell_moments<T>{*s, maps.partial, x, nullptr});
    each(l, s->channels,
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
