/* Windows on CUDA: a thread for each result of a pooling goes through its window, one for each element of a gradient
 * through the windows that hold it. With channels last a thread does so for COUNT neighbouring channels, 16 bytes of
 * them. */
#ifndef ONSTAGE_KERNELS_POOLING_CUDA_POOLING_CUH
#define ONSTAGE_KERNELS_POOLING_CUDA_POOLING_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/pooling/cuda_pooling.h"
#include "kernels/pooling/lp_terms.h"
}

namespace ons {

/* What a window's kernel counts with. Index: int32_t where all numbers are below 2³⁰, since divisions of 64 bits are
 * calls of functions; signed, because windows begin in the padding. */
template <class Index> struct windows {
    Index packs; /* COUNT channels each, side by side at a position */
    Index width; /* channels there */
    Index inputs, outputs;
    Index input[ONS_WINDOW_DIMS], output[ONS_WINDOW_DIMS], kernel[ONS_WINDOW_DIMS], stride[ONS_WINDOW_DIMS],
        dilation[ONS_WINDOW_DIMS], begin[ONS_WINDOW_DIMS], end[ONS_WINDOW_DIMS];
};

template <class Index> inline windows<Index> windows_of(const ons_cuda_pooling *s, int count) {
    windows<Index> w = {};
    w.packs = (Index)(s->width / count);
    w.width = (Index)s->width;
    w.inputs = (Index)s->inputs;
    w.outputs = (Index)s->outputs;
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) {
        w.input[d] = (Index)s->window.input[d];
        w.output[d] = (Index)s->window.output[d];
        w.kernel[d] = (Index)s->window.kernel[d];
        w.stride[d] = (Index)s->window.stride[d];
        w.dilation[d] = (Index)s->window.dilation[d];
        w.begin[d] = (Index)s->window.begin[d];
        w.end[d] = (Index)s->window.end[d];
    }
    return w;
}

/* Of numbers that are not negative. */
__device__ inline int32_t quotient(int32_t a, int32_t b) { return (int32_t)((uint32_t)a / (uint32_t)b); }
__device__ inline int64_t quotient(int64_t a, int64_t b) { return (int64_t)((uint64_t)a / (uint64_t)b); }

/* A thread's channels on one side: where they begin, at which position, and where the other side's plane begins at the
 * same channels, whose positions lie w.width apart. */
template <class Index> struct pooled { Index element, at[ONS_WINDOW_DIMS], first, plane; };

/* Item `item` of the side whose planes have `sizes`; those of the other one have `there` positions. */
template <int COUNT, class Index>
__device__ inline pooled<Index> pooled_of(const windows<Index> &w, Index item, const Index (&sizes)[ONS_WINDOW_DIMS],
                                          Index there) {
    Index position = quotient(item, w.packs), channel = (item - position * w.packs) * COUNT;
    Index row = quotient(position, sizes[2]), layer = quotient(row, sizes[1]), plane = quotient(layer, sizes[0]);
    return {item * COUNT,
            {layer - plane * sizes[0], row - layer * sizes[1], position - row * sizes[2]},
            plane * there * w.width + channel,
            plane};
}

/* Calls f(tap, input position) for every tap of a window that lies inside of the input, in order. */
template <class Index, class F>
__device__ inline void for_taps(const windows<Index> &w, const Index (&output)[ONS_WINDOW_DIMS], F f) {
    Index z0 = output[0] * w.stride[0] - w.begin[0], y0 = output[1] * w.stride[1] - w.begin[1],
          x0 = output[2] * w.stride[2] - w.begin[2];
    for (Index kz = 0; kz < w.kernel[0]; ++kz) {
        Index z = z0 + kz * w.dilation[0];
        if (z < 0 || z >= w.input[0]) continue;
        for (Index ky = 0; ky < w.kernel[1]; ++ky) {
            Index y = y0 + ky * w.dilation[1];
            if (y < 0 || y >= w.input[1]) continue;
            for (Index kx = 0; kx < w.kernel[2]; ++kx) {
                Index x = x0 + kx * w.dilation[2];
                if (x >= 0 && x < w.input[2])
                    f((kz * w.kernel[1] + ky) * w.kernel[2] + kx, (z * w.input[1] + y) * w.input[2] + x);
            }
        }
    }
}

/* Calls f(tap, output) for the outputs of one dim whose windows hold `at`, by rising taps: one division finds the last
 * of these outputs, which has the first tap, and the others lie before it. */
template <class Index, class F> __device__ inline void for_windows_of(const windows<Index> &w, int dim, Index at, F f) {
    Index padded = at + w.begin[dim], output = quotient(padded, w.stride[dim]);
    output = output < w.output[dim] ? output : w.output[dim] - 1;
    for (; output >= 0; --output) {
        Index distance = padded - output * w.stride[dim], tap = distance;
        if (w.dilation[dim] != 1) tap = quotient(distance, w.dilation[dim]);
        if (tap >= w.kernel[dim]) break;
        if (tap * w.dilation[dim] == distance) f(tap, output);
    }
}

/* Calls f(tap, {z, y, x} of the output) for every window that holds an input position, by rising taps. */
template <class Index, class F>
__device__ inline void for_windows(const windows<Index> &w, const Index (&input)[ONS_WINDOW_DIMS], F f) {
    for_windows_of(w, 0, input[0], [&](Index kz, Index z) {
        for_windows_of(w, 1, input[1], [&](Index ky, Index y) {
            for_windows_of(w, 2, input[2], [&](Index kx, Index x) {
                const Index at[ONS_WINDOW_DIMS] = {z, y, x};
                f((kz * w.kernel[1] + ky) * w.kernel[2] + kx, at);
            });
        });
    });
}

/* Where an output lies in its plane. */
template <class Index> __device__ inline Index output_at(const windows<Index> &w, const Index (&at)[ONS_WINDOW_DIMS]) {
    return (at[0] * w.output[1] + at[1]) * w.output[2] + at[2];
}

/* What an average divides by: see ons_pooling_divisor_at. */
template <class Index>
__device__ inline Index average_divisor(const windows<Index> &w, bool include_pad,
                                        const Index (&output)[ONS_WINDOW_DIMS]) {
    Index count = 1;
#pragma unroll
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) {
        Index start = output[d] * w.stride[d] - w.begin[d], first = include_pad ? -w.begin[d] : 0, inside = 0;
        Index last = w.input[d] + (include_pad ? w.end[d] : 0);
        for (Index k = 0, at = start; k < w.kernel[d]; ++k, at += w.dilation[d]) inside += at >= first && at < last;
        count *= inside;
    }
    return count;
}

/* --------------------------------------------------------------------------------------------------------- launches */

/* Whether all that kernels count with, taps and the place behind the last output's window too, is below 2³⁰. */
inline bool counts_in_32_bits(const ons_cuda_pooling *s) {
    const double limit = 1 << 30;
    double taps = (double)s->window.kernel[0] * (double)s->window.kernel[1] * (double)s->window.kernel[2];
    double elements = (double)s->planes * (double)s->width * (double)(s->inputs > s->outputs ? s->inputs : s->outputs);
    bool fits = elements < limit && taps < limit;
    for (int d = 0; d < ONS_WINDOW_DIMS; ++d) {
        double reach = (double)s->window.output[d] * (double)s->window.stride[d] +
                       (double)s->window.kernel[d] * (double)s->window.dilation[d] + (double)s->window.input[d] +
                       (double)s->window.begin[d] + (double)s->window.end[d];
        fits = fits && reach < limit;
    }
    return fits;
}

/* Calls MAKE<T, COUNT, Index>::of(launch, state), a function object, for every COUNT channels of the side with
 * `positions` to a plane. */
template <class T, template <class, int, class> class MAKE, int COUNT>
void run_pooling_packs(const ons_launch *l, const ons_cuda_pooling *s, int64_t positions) {
    int64_t items = s->planes * (s->width / COUNT) * positions;
    if (COUNT > 1 || counts_in_32_bits(s))
        each(l, items, MAKE<T, COUNT, int32_t>::of(l, s));
    else
        each(l, items, MAKE<T, 1, int64_t>::of(l, s));
}

/* Of 16 bytes, where channels divide into them and `aligned` says that they can be read and written at once; else one
 * by one. */
template <class T, template <class, int, class> class MAKE>
void run_pooling(const ons_launch *l, const ons_cuda_pooling *s, int64_t positions, bool aligned) {
    constexpr int COUNT = PACK_BYTES / (int)sizeof(T);
    if (aligned && s->width % COUNT == 0 && counts_in_32_bits(s))
        run_pooling_packs<T, MAKE, COUNT>(l, s, positions);
    else
        run_pooling_packs<T, MAKE, 1>(l, s, positions);
}

/* Of a float tensor, and of the places of maxima (nullptr: there are none). */
inline bool has_packs(const void *floats) { return is_aligned(floats, PACK_BYTES); }
inline bool has_place_packs(const ons_cuda_pooling *s, const void *places) {
    return is_aligned(places, s->wide_position ? 2 * PACK_BYTES : PACK_BYTES / 2);
}

} // namespace ons

#endif
