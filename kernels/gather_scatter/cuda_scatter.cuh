/* Lookups and scatters on CUDA (lines.h, nd_indexing.h): where each update goes, and how those that meet are joined in
 * the order of the updates without atomic operations. The first of the updates that meet does it for all: every update
 * looks whether an earlier one goes to the same place, and only where none does goes on through the later ones. That is
 * quadratic in the updates that could meet, but they are few or cheap to read, and all threads share the work. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_CUH
#define ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter.h"
}

namespace ons {

/* The updates that could meet update `number`: first + k step for k in [0, count); it is number `own` among them. */
struct peers {
    int64_t first, step, count, own;
};

/* Along one axis. */
struct line_targets {
    ons_line_map map;
    const void *indices;

    /* The element of the data, -1 where the index lies outside. */
    __device__ int64_t target(int64_t number) const {
        int64_t row = resolve_index(index_at(map.index_dtype == ONS_INT32, indices, number), map.length);
        int64_t offset = 0, stride = 1;
        for (int d = (int)map.indices.rank - 1; d >= 0; --d) {
            int64_t rest = number / map.indices.dims[d];
            offset += (d == (int)map.axis ? row : number - rest * map.indices.dims[d]) * stride;
            stride *= map.data.dims[d];
            number = rest;
        }
        return row < 0 ? -1 : offset;
    }
    __device__ peers peers_of(int64_t number) const {
        int64_t line = number / (map.count * map.inner), column = number % map.inner;
        return {line * map.count * map.inner + column, map.inner, map.count, number / map.inner % map.count};
    }
    __host__ __device__ int64_t updates() const { return map.outer * map.count * map.inner; }
};

inline void check_lines(const ons_launch *l, const line_targets &t) {
    if (t.updates() > 0)
        launch(l, check_indices, blocks_to_check(t.updates()), INDEXING_THREADS, t.map.index_dtype == ONS_INT32,
               t.indices, t.updates(), t.map.length, fault_of(l, ONS_INDEX_PROBLEM));
}

/* Slices that index tuples name. */
struct tuple_targets {
    ons_nd_indexing indexing;
    const void *indices;

    __device__ int64_t index(int64_t position) const {
        return index_at(indexing.index_dtype == ONS_INT32, indices, position);
    }
    /* The first element of tuple `number`'s slice, or -1; *bad: the position of the index that lies outside. */
    __device__ int64_t slice_of(int64_t number, int64_t *bad) const {
        int64_t offset = 0;
        for (uint32_t i = 0; i < indexing.depth; ++i) {
            int64_t position = number * indexing.depth + i, at = resolve_index(index(position), indexing.dims[i]);
            if (at < 0) {
                *bad = position;
                return -1;
            }
            offset = offset * indexing.dims[i] + at;
        }
        return number / indexing.tuples * indexing.per_batch + offset * indexing.slice;
    }
    __device__ int64_t target(int64_t number) const {
        int64_t bad = 0, tuple = number / indexing.slice, slice = slice_of(tuple, &bad);
        return slice < 0 ? -1 : slice + (number - tuple * indexing.slice);
    }
    __device__ peers peers_of(int64_t number) const {
        int64_t tuple = number / indexing.slice, batch = tuple / indexing.tuples;
        return {batch * indexing.tuples * indexing.slice + number % indexing.slice, indexing.slice, indexing.tuples,
                tuple - batch * indexing.tuples};
    }
    __host__ __device__ int64_t updates() const { return indexing.batches * indexing.tuples * indexing.slice; }
};

[[maybe_unused]] static __global__ void check_tuples(tuple_targets t, fault_place fault) {
    int64_t count = t.indexing.batches * t.indexing.tuples, none = count * t.indexing.depth, worst = none;
    for (int64_t i = threadIdx.x; i < count && worst == none; i += INDEXING_THREADS) (void)t.slice_of(i, &worst);
    worst = block_reduce<INDEXING_THREADS>(worst, none, smaller());
    if (threadIdx.x == 0 && worst < none) note_fault(fault, worst, t.index(worst));
}

/* Each looked up element; what lies outside gives 0. */
template <class Unit, class Targets> struct looked_up {
    Targets targets;
    const Unit *data;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        int64_t from = targets.target(i);
        out[i] = from < 0 ? Unit(0) : data[from];
    }
};

/* The last of the updates that meet stays. */
template <class Unit, class Targets> struct put_last {
    Targets targets;
    const Unit *updates;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        int64_t to = targets.target(i);
        peers all = targets.peers_of(i);
        if (to < 0) return;
        for (int64_t k = all.own + 1; k < all.count; ++k)
            if (targets.target(all.first + k * all.step) == to) return;
        out[to] = updates[i];
    }
};

/* Whether an earlier update goes to the same place. */
template <class Targets> __device__ inline bool has_earlier(const Targets &targets, const peers &all, int64_t to) {
    for (int64_t k = 0; k < all.own; ++k)
        if (targets.target(all.first + k * all.step) == to) return true;
    return false;
}

/* As in scatter.c: a NaN wins. */
__device__ inline float scatter_joined(ons_scatter_mode mode, float a, float b) {
    switch (mode) {
    case ONS_SCATTER_ADD: return a + b;
    case ONS_SCATTER_MUL: return a * b;
    case ONS_SCATTER_MAX: return b > a || b != b ? b : a;
    default: return b < a || b != b ? b : a;
    }
}

template <class Targets> struct join_updates {
    Targets targets;
    ons_scatter_mode mode;
    const float *updates;
    float *out;
    __device__ void operator()(int64_t i) const {
        int64_t to = targets.target(i);
        peers all = targets.peers_of(i);
        if (to < 0 || has_earlier(targets, all, to)) return;
        float joined = out[to];
        for (int64_t k = all.own; k < all.count; ++k) {
            int64_t update = all.first + k * all.step;
            if (targets.target(update) == to) joined = scatter_joined(mode, joined, updates[update]);
        }
        out[to] = joined;
    }
};

template <class Unit, class Targets> void look_up(const ons_launch *l, const Targets &targets) {
    looked_up<Unit, Targets> f = {targets, (const Unit *)l->inputs[0], (Unit *)l->outputs[0]};
    each(l, targets.updates(), f);
}

template <class Unit, class Targets> void put_updates(const ons_launch *l, const Targets &targets) {
    put_last<Unit, Targets> f = {targets, (const Unit *)l->inputs[2], (Unit *)l->outputs[0]};
    each(l, targets.updates(), f);
}

/* Inputs data, indices, updates. */
template <class Targets>
void scatter(const ons_launch *l, const Targets &targets, ons_scatter_mode mode, size_t size, int64_t bytes) {
    copy_bytes(l, l->outputs[0], l->inputs[0], bytes);
    if (mode == ONS_SCATTER_NONE) {
        ONS_CUDA_UNIT_DISPATCH(size, put_updates, l, targets);
        return;
    }
    join_updates<Targets> f = {targets, mode, (const float *)l->inputs[2], (float *)l->outputs[0]};
    each(l, targets.updates(), f);
}

/* Gradients of lookups: zeros, and the cotangents (input 0) added where they came from. */
template <class Targets> void add_back(const ons_launch *l, const Targets &targets, int64_t bytes) {
    zero_bytes(l, l->outputs[0], bytes);
    join_updates<Targets> f = {targets, ONS_SCATTER_ADD, (const float *)l->inputs[0], (float *)l->outputs[0]};
    each(l, targets.updates(), f);
}

} // namespace ons

#endif
