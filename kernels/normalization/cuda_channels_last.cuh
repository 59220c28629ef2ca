/* Batch normalisation where channels lie side by side: threads have 16 bytes of channels each, at many positions, and
 * ask for several of them before they look at the first. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_CHANNELS_LAST_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_CHANNELS_LAST_CUH

#include "kernels/normalization/cuda_channel_maps.cuh"

namespace ons {

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
    const raw_pack<T, PACK> *x, *dy;
    int64_t column, width;
    float shift[PACK], gate_scale[PACK], gate_rest[PACK];
    ons_batch_activation activation;

    __device__ column_sums(const T *x, const T *dy, const P *means, const channel_gate<P> &gate, int64_t column,
                           int64_t width)
        : x(reinterpret_cast<const raw_pack<T, PACK> *>(x)), dy(reinterpret_cast<const raw_pack<T, PACK> *>(dy)),
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
        raw_pack<T, PACK> values[COUNT], slopes[COUNT];
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            values[n] = x[(i + n * stride) * width + column];
            if (GRADIENT) slopes[n] = dy[(i + n * stride) * width + column];
        }
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            float value[PACK], slope[PACK] = {};
            values[n].unpack(value);
            if (GRADIENT) slopes[n].unpack(slope);
#pragma unroll
            for (int k = 0; k < PACK; ++k) {
                float distance = value[k] - shift[k];
                const open_gate<T> open = {activation, gate_scale[k], gate_rest[k]};
                float term = GRADIENT ? open(distance, slope[k]) : distance;
                near[k] += term;
                square[k] += term * distance;
            }
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

/* With channels last a thread has the same PACK channels at many positions, laid out as in sum_channels_last, and reads
 * what it needs of them once. */
template <int PACK, bool BACKWARDS, class T> struct map_column {
    const raw_pack<T, PACK> *x, *others;
    T *to;
    int64_t column, width;
    ons_batch_activation activation;
    pack<float, PACK> shift, scale, rest, factor;
    float gate_scale[PACK], gate_rest[PACK];

    __device__ map_column(const channel_maps &maps, const T *from, const map_operands<T> &o, T *result, int64_t column,
                          int64_t width)
        : x(reinterpret_cast<const raw_pack<T, PACK> *>(from)),
          others(reinterpret_cast<const raw_pack<T, PACK> *>(BACKWARDS ? o.dy : o.residual)), to(result),
          column(column), width(width), activation(o.activation),
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
        raw_pack<T, PACK> values[COUNT], beside[COUNT];
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            int64_t at = (i + n * stride) * width + column;
            values[n] = x[at];
            if (BACKWARDS || others != nullptr) beside[n] = others[at];
        }
#pragma unroll
        for (int n = 0; n < COUNT; ++n) {
            float value[PACK], other[PACK] = {};
            values[n].unpack(value);
            if (BACKWARDS || others != nullptr) beside[n].unpack(other);
            pack<T, PACK> mapped;
#pragma unroll
            for (int k = 0; k < PACK; ++k) {
                float distance = value[k] - shift.at[k];
                const open_gate<T> open = {activation, gate_scale[k], gate_rest[k]};
                mapped.at[k] =
                    BACKWARDS
                        ? map_backwards(open, distance, other[k], scale.at[k], factor.at[k], rest.at[k])
                        : map_forwards<T>(activation, others != nullptr, distance, scale.at[k], rest.at[k], other[k]);
            }
            reinterpret_cast<pack<T, PACK> *>(to)[(i + n * stride) * width + column] = mapped;
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

} // namespace ons

#endif
