/* Strided copies on CUDA (see strided.h): in units as wide as sizes, distances and addresses allow, up to 16 bytes;
 * where both sides are contiguous along different axes, through tiles of 32 × 32 in shared memory, or, where one of the
 * two is short, element by element along it. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_CUDA_STRIDED_CUH
#define ONSTAGE_KERNELS_COMMON_LAYOUT_CUDA_STRIDED_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/layout/strided.h"
}

namespace ons {

constexpr int COPY_THREADS = 256;
constexpr int TILE = 32, TILE_LANES = 8;
constexpr int64_t THIN = 12; /* longest axis that is gone along by one thread */

template <class Unit, class Index>
__global__ void copy_strided(ons_strided s, Index units, const Unit *from, Unit *to) {
    for (Index item = (Index)global_thread(); item < units; item += (Index)global_threads()) {
        Index rest = item;
        int64_t source = s.from_offset, target = s.to_offset;
        for (int d = (int)s.rank - 1; d >= 0; --d) {
            Index index = rest;
            if (d > 0) {
                rest = index / (Index)s.dims[d];
                index -= rest * (Index)s.dims[d];
            }
            source += (int64_t)index * s.from[d];
            target += (int64_t)index * s.to[d];
        }
        to[target] = from[source];
    }
}

/* `a` is the axis along which the source is contiguous, `b` that of the target; both are among the last two. */
template <class Unit>
__global__ void copy_tiles(ons_strided s, int a, int b, int64_t blocks_a, int64_t blocks_b, int64_t items,
                           const Unit *from, Unit *to) {
    __shared__ Unit tile[TILE][TILE + 1];
    int column = (int)threadIdx.x % TILE, lane = (int)threadIdx.x / TILE;
    for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
        int64_t first_a = item % blocks_a * TILE, rest = item / blocks_a;
        int64_t first_b = rest % blocks_b * TILE;
        rest /= blocks_b;
        int64_t source = s.from_offset, target = s.to_offset;
        for (int d = (int)s.rank - 3; d >= 0; --d) {
            int64_t index = rest % s.dims[d];
            rest /= s.dims[d];
            source += index * s.from[d];
            target += index * s.to[d];
        }
        for (int k = lane; k < TILE; k += TILE_LANES)
            if (first_a + column < s.dims[a] && first_b + k < s.dims[b])
                tile[k][column] = from[source + (first_a + column) * s.from[a] + (first_b + k) * s.from[b]];
        __syncthreads();
        for (int k = lane; k < TILE; k += TILE_LANES)
            if (first_b + column < s.dims[b] && first_a + k < s.dims[a])
                to[target + (first_b + column) * s.to[b] + (first_a + k) * s.to[a]] = tile[column][k];
        __syncthreads();
    }
}

/* Where one of the two axes is short, tiles would be empty for the most part: a thread for each place along the long
 * one, that goes along the short one. */
template <class Unit>
__global__ void copy_thin(ons_strided s, int along, int across, int64_t items, const Unit *from, Unit *to) {
    for (int64_t item = global_thread(); item < items; item += global_threads()) {
        int64_t rest = item / s.dims[along], index = item - rest * s.dims[along];
        int64_t source = s.from_offset + index * s.from[along], target = s.to_offset + index * s.to[along];
        for (int d = (int)s.rank - 3; d >= 0; --d) {
            int64_t above = rest / s.dims[d];
            source += (rest - above * s.dims[d]) * s.from[d];
            target += (rest - above * s.dims[d]) * s.to[d];
            rest = above;
        }
#pragma unroll 4
        for (int64_t i = 0; i < s.dims[across]; ++i) to[target + i * s.to[across]] = from[source + i * s.from[across]];
    }
}

/* Whether two neighbours along the last axis can be moved as one. */
inline bool can_pair(const ons_strided *s, const void *from, const void *to) {
    uint32_t last = s->rank - 1;
    if (s->size >= 16 || s->from[last] != 1 || s->to[last] != 1 || s->dims[last] % 2 != 0) return false;
    if (s->from_offset % 2 != 0 || s->to_offset % 2 != 0) return false;
    for (uint32_t d = 0; d < last; ++d)
        if (s->from[d] % 2 != 0 || s->to[d] % 2 != 0) return false;
    return is_aligned(from, 2 * s->size) && is_aligned(to, 2 * s->size);
}

inline ons_strided pair(ons_strided s) {
    s.size *= 2;
    s.dims[s.rank - 1] /= 2;
    s.from_offset /= 2;
    s.to_offset /= 2;
    for (uint32_t d = 0; d + 1 < s.rank; ++d) {
        s.from[d] /= 2;
        s.to[d] /= 2;
    }
    return s;
}

template <class Unit> void copy_units(const ons_launch *l, const ons_strided &s, const void *from, void *to) {
    int64_t units = 1;
    for (uint32_t d = 0; d < s.rank; ++d) units *= s.dims[d];
    int64_t blocks = blocks_for(units, COPY_THREADS);
    if (units < INT32_MAX)
        launch(l, copy_strided<Unit, uint32_t>, blocks, COPY_THREADS, s, (uint32_t)units, (const Unit *)from,
               (Unit *)to);
    else
        launch(l, copy_strided<Unit, uint64_t>, blocks, COPY_THREADS, s, (uint64_t)units, (const Unit *)from,
               (Unit *)to);
}

template <class Unit> void copy_by_tiles(const ons_launch *l, const ons_strided &s, const void *from, void *to) {
    int last = (int)s.rank - 1, a = s.from[last] == 1 ? last : last - 1, b = a == last ? last - 1 : last;
    int64_t blocks_a = (s.dims[a] + TILE - 1) / TILE, blocks_b = (s.dims[b] + TILE - 1) / TILE, others = 1;
    for (int d = 0; d < last - 1; ++d) others *= s.dims[d];
    int shorter = s.dims[a] < s.dims[b] ? a : b, longer = shorter == a ? b : a;
    if (s.dims[shorter] <= THIN) {
        int64_t items = s.dims[longer] * others;
        launch(l, copy_thin<Unit>, blocks_for(items, COPY_THREADS), COPY_THREADS, s, longer, shorter, items,
               (const Unit *)from, (Unit *)to);
        return;
    }
    int64_t items = blocks_a * blocks_b * others;
    launch(l, copy_tiles<Unit>, items, TILE * TILE_LANES, s, a, b, blocks_a, blocks_b, items, (const Unit *)from,
           (Unit *)to);
}

/* A planned copy. */
inline void copy_strided_box(const ons_launch *l, const ons_strided *planned, const void *from, void *to) {
    ons_strided s = *planned;
    for (uint32_t d = 0; d < s.rank; ++d)
        if (s.dims[d] == 0) return;
    if (s.tiles) {
        switch (s.size) {
        case 1: copy_by_tiles<uint8_t>(l, s, from, to); break;
        case 2: copy_by_tiles<uint16_t>(l, s, from, to); break;
        case 4: copy_by_tiles<uint32_t>(l, s, from, to); break;
        default: copy_by_tiles<uint64_t>(l, s, from, to); break;
        }
        return;
    }
    while (s.rank > 0 && can_pair(&s, from, to)) s = pair(s);
    switch (s.size) {
    case 1: copy_units<uint8_t>(l, s, from, to); break;
    case 2: copy_units<uint16_t>(l, s, from, to); break;
    case 4: copy_units<uint32_t>(l, s, from, to); break;
    case 8: copy_units<uint64_t>(l, s, from, to); break;
    default: copy_units<pack<uint32_t, 4>>(l, s, from, to); break;
    }
}

} // namespace ons

#endif
