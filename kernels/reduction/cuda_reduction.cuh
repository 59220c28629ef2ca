/* Reductions along any axes on CUDA.
 *
 *     rows      a warp (or block, for long ones) for each result and part: lanes take every 32nd (256th) element
 *     columns   32 neighbouring results for each block and part: eight lanes take every eighth element
 *
 * What the lanes have is joined in a tree or in their order, parts in theirs: always the same for the same sizes.
 */
#ifndef ONSTAGE_KERNELS_REDUCTION_CUDA_REDUCTION_CUH
#define ONSTAGE_KERNELS_REDUCTION_CUDA_REDUCTION_CUH

#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/reduction/cuda_reduction.h"
}

namespace ons {

constexpr int REDUCE_COLUMNS = 32, REDUCE_LANES = 8;

__device__ inline int64_t offset_of(const ons_cuda_loops &loops, int64_t number) {
    int64_t offset = 0;
    for (int d = (int)loops.rank - 1; d > 0; --d) {
        int64_t rest = (int64_t)((uint64_t)number / (uint64_t)loops.dims[d]);
        offset += (number - rest * loops.dims[d]) * loops.strides[d];
        number = rest;
    }
    return loops.rank == 0 ? 0 : offset + number * loops.strides[0];
}

/* The elements [begin, end) of a part. */
__device__ inline int64_t part_start(int64_t count, int parts, int64_t part) { return count * part / parts; }

/* F: a reducer, with identity(), step(a, x), operator()(a, b) that joins, finish(a, count). */
template <class F, class T>
__device__ inline void put(const ons_cuda_reduction &r, int64_t result, int64_t part, float a, float *partial, T *out) {
    if (r.parts > 1)
        partial[part * r.results + result] = a;
    else
        out[result] = narrow<T>(F::finish(a, (float)r.count));
}

template <class Group, class F, class T>
__global__ void reduce_rows(ons_cuda_reduction r, const T *x, float *partial, T *out) {
    for (int64_t item = Group::first(); item < r.results * r.parts; item += Group::stride()) {
        int64_t result = item % r.results, part = item / r.results, end = part_start(r.count, r.parts, part + 1);
        const T *from = x + offset_of(r.kept, result);
        float a = F::identity();
        for (int64_t i = part_start(r.count, r.parts, part) + Group::lane(); i < end; i += Group::SIZE)
            a = F::step(a, widen(from[offset_of(r.reduced, i)]));
        a = Group::reduce(a, F::identity(), F());
        if (Group::lane() == 0) put<F>(r, result, part, a, partial, out);
    }
}

template <class F, class T> __global__ void reduce_columns(ons_cuda_reduction r, const T *x, float *partial, T *out) {
    __shared__ float lanes[REDUCE_LANES][REDUCE_COLUMNS];
    int64_t across = (r.results + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS;
    int column = (int)threadIdx.x % REDUCE_COLUMNS, lane = (int)threadIdx.x / REDUCE_COLUMNS;
    for (int64_t item = blockIdx.x; item < across * r.parts; item += gridDim.x) {
        int64_t result = item % across * REDUCE_COLUMNS + column, part = item / across;
        int64_t end = part_start(r.count, r.parts, part + 1);
        float a = F::identity();
        if (result < r.results) {
            const T *from = x + offset_of(r.kept, result);
            for (int64_t i = part_start(r.count, r.parts, part) + lane; i < end; i += REDUCE_LANES)
                a = F::step(a, widen(from[offset_of(r.reduced, i)]));
        }
        lanes[lane][column] = a;
        __syncthreads();
        if (lane == 0 && result < r.results) {
            for (int k = 1; k < REDUCE_LANES; ++k) a = F()(a, lanes[k][column]);
            put<F>(r, result, part, a, partial, out);
        }
        __syncthreads();
    }
}

template <class F, class T> __global__ void join_parts(ons_cuda_reduction r, const float *partial, T *out) {
    for (int64_t result = global_thread(); result < r.results; result += global_threads()) {
        float a = partial[result];
        for (int part = 1; part < r.parts; ++part) a = F()(a, partial[part * r.results + result]);
        out[result] = narrow<T>(F::finish(a, (float)r.count));
    }
}

template <class F, class T> void reduce(const ons_launch *l) {
    const ons_cuda_reduction *r = (const ons_cuda_reduction *)l->state;
    const T *x = (const T *)l->inputs[0];
    T *out = (T *)l->outputs[0];
    float *partial = (float *)l->scratch;
    int64_t items = r->results * r->parts;
    if (r->columns)
        launch(l, reduce_columns<F, T>, (r->results + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS * r->parts,
               REDUCE_COLUMNS * REDUCE_LANES, *r, x, partial, out);
    else if (r->count / r->parts <= WARP_ROW)
        launch(l, reduce_rows<warp_group, F, T>, warp_group::blocks(items), ROW_THREADS, *r, x, partial, out);
    else
        launch(l, reduce_rows<block_group, F, T>, block_group::blocks(items), ROW_THREADS, *r, x, partial, out);
    if (r->parts > 1)
        launch(l, join_parts<F, T>, blocks_for(r->results, ROW_THREADS), ROW_THREADS, *r, (const float *)partial, out);
}

template <class F> void reduce_floats(const ons_launch *l) {
    switch (((const ons_cuda_reduction *)l->state)->dtype) {
    case ONS_FLOAT16: reduce<F, __half>(l); break;
    case ONS_BFLOAT16: reduce<F, __nv_bfloat16>(l); break;
    default: reduce<F, float>(l); break;
    }
}

} // namespace ons

/* Makes SYMBOL_reducer from expressions: STEP of the result so far `a` and an element `x`, JOIN of two results `a` and
 * `b`, FINISH of `a` and `count`. */
#define ONS_CUDA_REDUCER(SYMBOL, IDENTITY, STEP, JOIN, FINISH)                                                         \
    namespace {                                                                                                        \
    struct SYMBOL##_reducer {                                                                                          \
        __device__ static float identity() { return (IDENTITY); }                                                      \
        __device__ static float step(float a, float x) { return (STEP); }                                              \
        __device__ float operator()(float a, float b) const { return (JOIN); }                                         \
        __device__ static float finish(float a, float count) { return (FINISH); }                                      \
    };                                                                                                                 \
    }

/* SYMBOL_reducer as ONS_CUDA_REDUCER makes it, and ons_cuda_SYMBOL with it. */
#define ONS_CUDA_REDUCTION(SYMBOL, IDENTITY, STEP, JOIN, FINISH)                                                       \
    ONS_CUDA_REDUCER(SYMBOL, IDENTITY, STEP, JOIN, FINISH)                                                             \
    extern "C" void ons_cuda_run_##SYMBOL(const ons_launch *launch) { ons::reduce_floats<SYMBOL##_reducer>(launch); }

#endif
