/* Gradients of lookups of whole rows on CUDA. Places are sorted by the row that they looked up, stably, by a radix
 * sort; then each row's cotangents are added in the order of its places, by segments of ONS_PLACE_SEGMENT places, and
 * the segments' sums in their order. So the bits depend on the indices alone, and neither one row that holds most
 * places nor many places in all make the work quadratic or leave it to one block. A row of no more than one segment is
 * added up as on the CPU.
 *
 *     indices   7 2 7 7 2          rows of the places 0 to 4
 *     sorted    1 4 | 0 2 3        places by row: those of row 2, those of row 7
 *
 * `Rows` says what place looked up: count places, length rows; row(place) is -1 for what lies outside, which the
 * forward node reports and which is sorted behind all rows here. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SORTED_PLACES_CUH
#define ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SORTED_PLACES_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/gather_scatter/sorted_places.h"
}

namespace ons {

constexpr int SORT_WARPS = 32, SORT_THREADS = SORT_WARPS * WARP, SORT_DIGITS = ONS_SORT_DIGITS;

/* One pass of the sort, by the digit at bit `shift`. from: nullptr for all places in order. */
struct digit_pass {
    int shift;
    const int32_t *from;
    int32_t *to;
    int32_t *counters; /* tiles × digits: how many places, then where the first of them goes */

    __device__ int32_t place(int64_t i) const { return from == nullptr ? (int32_t)i : from[i]; }
    /* SORT_DIGITS behind the last. */
    template <class Rows> __device__ int digit(const Rows &rows, int64_t i) const {
        if (i >= rows.count) return SORT_DIGITS;
        int64_t row = rows.row(place(i));
        return (int)((row < 0 ? rows.length : row) >> shift) & (SORT_DIGITS - 1);
    }
};

/* By a warp: one tile. `table` is the warp's own, of SORT_DIGITS entries. */
template <class Rows>
__device__ void count_tile(const Rows &rows, const digit_pass &pass, int64_t tile, int32_t *table) {
    int lane = threadIdx.x % WARP;
    for (int d = lane; d < SORT_DIGITS; d += WARP) table[d] = 0;
    __syncwarp();
    for (int64_t i = tile * ONS_SORT_TILE + lane; i < (tile + 1) * ONS_SORT_TILE; i += WARP) {
        int digit = pass.digit(rows, i);
        unsigned same = __match_any_sync(0xffffffffu, digit);
        if (digit < SORT_DIGITS && (same & ((1u << lane) - 1)) == 0) table[digit] += __popc(same);
        __syncwarp();
    }
    for (int d = lane; d < SORT_DIGITS; d += WARP) pass.counters[tile * SORT_DIGITS + d] = table[d];
}

template <class Rows>
__device__ void move_tile(const Rows &rows, const digit_pass &pass, int64_t tile, int32_t *table) {
    int lane = threadIdx.x % WARP;
    for (int d = lane; d < SORT_DIGITS; d += WARP) table[d] = pass.counters[tile * SORT_DIGITS + d];
    __syncwarp();
    for (int64_t i = tile * ONS_SORT_TILE + lane; i < (tile + 1) * ONS_SORT_TILE; i += WARP) {
        int digit = pass.digit(rows, i);
        unsigned same = __match_any_sync(0xffffffffu, digit), before = same & ((1u << lane) - 1);
        if (digit < SORT_DIGITS) pass.to[table[digit] + __popc(before)] = pass.place(i);
        __syncwarp();
        if (digit < SORT_DIGITS && before == 0) table[digit] += __popc(same);
        __syncwarp();
    }
}

/* By a block: counters become where each tile's first place of each digit goes. */
__device__ inline void place_digits(int64_t tiles, int32_t *counters) {
    __shared__ int32_t totals[SORT_DIGITS];
    int d = threadIdx.x;
    int32_t next = 0;
    if (d < SORT_DIGITS) {
        for (int64_t tile = 0; tile < tiles; ++tile) next += counters[tile * SORT_DIGITS + d];
        totals[d] = next;
    }
    __syncthreads();
    if (d < SORT_DIGITS) {
        next = 0;
        for (int smaller = 0; smaller < d; ++smaller) next += totals[smaller];
        for (int64_t tile = 0; tile < tiles; ++tile) {
            int32_t *counter = counters + tile * SORT_DIGITS + d, count = *counter;
            *counter = next;
            next += count;
        }
    }
    __syncthreads();
}

template <class Rows> __global__ void count_digits(Rows rows, digit_pass pass) {
    __shared__ int32_t tables[SORT_WARPS][SORT_DIGITS];
    for (int64_t tile = global_thread() / WARP; tile < ons_sort_tiles(rows.count); tile += global_threads() / WARP)
        count_tile(rows, pass, tile, tables[threadIdx.x / WARP]);
}

[[maybe_unused]] static __global__ void place_all_digits(int64_t tiles, int32_t *counters) {
    place_digits(tiles, counters);
}

template <class Rows> __global__ void move_places(Rows rows, digit_pass pass) {
    __shared__ int32_t tables[SORT_WARPS][SORT_DIGITS];
    for (int64_t tile = global_thread() / WARP; tile < ons_sort_tiles(rows.count); tile += global_threads() / WARP)
        move_tile(rows, pass, tile, tables[threadIdx.x / WARP]);
}

/* All passes by one block, a tile for each of its warps. The result is in pass.to, or in `other` after an even number
 * of them. */
template <class Rows> __global__ void sort_few(Rows rows, digit_pass pass, int32_t *other, int passes) {
    __shared__ int32_t tables[SORT_WARPS][SORT_DIGITS];
    int64_t tile = threadIdx.x / WARP;
    for (int k = 0; k < passes; ++k) {
        if (tile < ons_sort_tiles(rows.count)) count_tile(rows, pass, tile, tables[tile]);
        __syncthreads();
        place_digits(ons_sort_tiles(rows.count), pass.counters);
        if (tile < ons_sort_tiles(rows.count)) move_tile(rows, pass, tile, tables[tile]);
        __syncthreads();
        pass.from = pass.to;
        pass.to = other;
        other = (int32_t *)pass.from;
        pass.shift += ONS_SORT_DIGIT_BITS;
    }
}

/* Places by row. Scratch: 2 × count places, and counters behind them. */
template <class Rows> const int32_t *sort_places(const ons_launch *l, const Rows &rows, int32_t *scratch) {
    int32_t *other = scratch + rows.count;
    digit_pass pass = {0, nullptr, scratch, other + rows.count};
    int64_t tiles = ons_sort_tiles(rows.count);
    int passes = 1;
    while (rows.length >> passes * ONS_SORT_DIGIT_BITS > 0) ++passes;
    if (tiles <= SORT_WARPS) {
        launch(l, sort_few<Rows>, 1, SORT_THREADS, rows, pass, other, passes);
        return passes % 2 == 1 ? scratch : other;
    }
    for (; pass.shift < passes * ONS_SORT_DIGIT_BITS; pass.shift += ONS_SORT_DIGIT_BITS) {
        launch(l, count_digits<Rows>, blocks_for(tiles, SORT_WARPS), SORT_THREADS, rows, pass);
        launch(l, place_all_digits, 1, SORT_DIGITS, tiles, pass.counters);
        launch(l, move_places<Rows>, blocks_for(tiles, SORT_WARPS), SORT_THREADS, rows, pass);
        pass.from = pass.to;
        pass.to = other;
        other = (int32_t *)pass.from;
    }
    return pass.from;
}

/* What is added up: `outer` tables of rows of `inner` elements, each with `count` places of its own in the cotangent.
 */
template <class Rows> struct place_sums {
    Rows rows;
    int64_t outer, inner;
    const int32_t *sorted;
    const float *cotangent;
    float *table, *of_segments;

    /* Of sorted place i; -1 beside them all. */
    __device__ int64_t row(int64_t i) const { return i < 0 || i >= rows.count ? -1 : rows.row(sorted[i]); }
    /* The first of the sorted places from 0 to i that belong to i's row. */
    __device__ int64_t first_of(int64_t i) const {
        int64_t low = 0, high = i, looked_up = row(i);
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (row(middle) < looked_up)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    /* Where the sum of the segment from sorted place i on is kept. Of those that begin among the same ONS_PLACE_SEGMENT
     * places, at most one is its row's first of several, and at most one a later one: a row's segments lie that far
     * from each other, and other rows that have several begin behind them. */
    __device__ float *slot(int64_t table_number, int64_t i, bool first) const {
        return of_segments +
               (table_number * ons_segment_slots(rows.count) + i / ONS_PLACE_SEGMENT * 2 + (first ? 1 : 0)) * inner;
    }
};

/* A block for each sorted place; where a segment begins it adds this up. */
template <class Rows> __global__ void add_segments(place_sums<Rows> s) {
    for (int64_t block = blockIdx.x; block < s.outer * s.rows.count; block += gridDim.x) {
        int64_t number = block / s.rows.count, i = block - number * s.rows.count, row = s.row(i);
        if (row < 0) continue;
        bool first = s.row(i - 1) != row;
        if (!first && s.row(i - ONS_PLACE_SEGMENT) != row) continue;
        if (!first && (i - s.first_of(i)) % ONS_PLACE_SEGMENT != 0) continue;
        int64_t end = i + 1;
        while (end < i + ONS_PLACE_SEGMENT && s.row(end) == row) ++end;
        bool whole = first && s.row(end) != row;
        const float *from = s.cotangent + number * s.rows.count * s.inner;
        float *to = whole ? s.table + (number * s.rows.length + row) * s.inner : s.slot(number, i, first);
        for (int64_t column = threadIdx.x; column < s.inner; column += blockDim.x) {
            float sum = 0;
#pragma unroll 8
            for (int64_t k = i; k < end; ++k) sum += from[s.sorted[k] * s.inner + column];
            to[column] = sum;
        }
    }
}

/* A block for every ONS_PLACE_SEGMENT sorted places: where one of them is the first of a row of several segments it
 * adds these up. */
template <class Rows> __global__ void join_segments(place_sums<Rows> s) {
    __shared__ int64_t found;
    int64_t windows = ons_segment_slots(s.rows.count) / 2;
    for (int64_t block = blockIdx.x; block < s.outer * windows; block += gridDim.x) {
        int64_t number = block / windows, begin = block % windows * ONS_PLACE_SEGMENT;
        if (threadIdx.x == 0) found = -1;
        __syncthreads();
        for (int64_t i = begin + threadIdx.x; i < begin + ONS_PLACE_SEGMENT; i += blockDim.x) {
            int64_t row = s.row(i);
            if (row >= 0 && s.row(i - 1) != row && s.row(i + ONS_PLACE_SEGMENT) == row) found = i;
        }
        __syncthreads();
        int64_t first = found, row = s.row(first);
        __syncthreads(); /* found may be written again */
        if (first < 0) continue;
        for (int64_t column = threadIdx.x; column < s.inner; column += blockDim.x) {
            float sum = s.slot(number, first, true)[column];
            for (int64_t i = first + ONS_PLACE_SEGMENT; s.row(i) == row; i += ONS_PLACE_SEGMENT)
                sum += s.slot(number, i, false)[column];
            s.table[(number * s.rows.length + row) * s.inner + column] = sum;
        }
    }
}

/* Zeros, and the cotangents added to the rows that they come from. Scratch as ons_sorted_places_scratch has planned it.
 */
template <class Rows> void add_rows_back(const ons_launch *l, const Rows &rows, int64_t outer, int64_t inner) {
    float *table = (float *)l->outputs[0], *of_segments = (float *)l->scratch;
    zero_bytes(l, table, outer * rows.length * inner * (int64_t)sizeof(float));
    if (outer * rows.length * inner == 0 || rows.count == 0) return;
    int32_t *places = (int32_t *)(of_segments + outer * ons_segment_slots(rows.count) * inner);
    place_sums<Rows> sums = {rows,  outer,      inner, sort_places(l, rows, places), (const float *)l->inputs[0],
                             table, of_segments};
    int threads = inner < INDEXING_THREADS ? (int)blocks_for(inner, WARP) * WARP : INDEXING_THREADS;
    launch(l, add_segments<Rows>, outer * rows.count, threads, sums);
    if (rows.count > ONS_PLACE_SEGMENT)
        launch(l, join_segments<Rows>, outer * ons_segment_slots(rows.count) / 2, threads, sums);
}

} // namespace ons

#endif
