/* Work along one axis on CUDA. A row is worked on by a group of threads, chosen by its length and how its elements lie:
 *
 *     warp     contiguous and at most 1024 long
 *     block    contiguous and longer; for kernels that read a row twice blocks of more threads, above 8192
 *     thread   elements lie apart: neighbouring threads have neighbouring columns, so that they read side by side
 *
 * A kernel is a template over the group; sums within a row go lane by lane with a stride of the group's size and are
 * then joined in a tree, always the same for the same sizes. Contiguous rows are read 16 bytes at a time.
 */
#ifndef ONSTAGE_KERNELS_COMMON_ROWS_CUDA_ROWS_CUH
#define ONSTAGE_KERNELS_COMMON_ROWS_CUDA_ROWS_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/rows/rows.h"
}

namespace ons {

constexpr int ROW_THREADS = 256;
constexpr int64_t WARP_ROW = 1024; /* longest row of a warp */
constexpr int WIDE_THREADS = 512;
constexpr int64_t NARROW_ROW = 8192; /* longest row of a block of ROW_THREADS, where there are wider ones */

/* SIZE: threads of the group; THREADS: of a block; BLOCKS: that a multiprocessor has under way, at least. */
struct warp_group {
    static constexpr int SIZE = WARP, THREADS = ROW_THREADS, BLOCKS = 1;
    __device__ static int lane() { return (int)threadIdx.x % WARP; }
    __device__ static int64_t first() { return global_thread() / WARP; }
    __device__ static int64_t stride() { return global_threads() / WARP; }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) { return warp_reduce(x, f); }
    __device__ static void barrier() { __syncwarp(); }
    static int64_t blocks(int64_t rows) { return blocks_for(rows * WARP, ROW_THREADS); }
};

template <int COUNT, int AT_ONCE> struct block_group_of {
    static constexpr int SIZE = COUNT, THREADS = COUNT, BLOCKS = AT_ONCE;
    __device__ static int lane() { return (int)threadIdx.x; }
    __device__ static int64_t first() { return blockIdx.x; }
    __device__ static int64_t stride() { return gridDim.x; }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) {
        return block_reduce<COUNT>(x, identity, f);
    }
    __device__ static void barrier() { __syncthreads(); }
    static int64_t blocks(int64_t rows) { return rows; }
};
using block_group = block_group_of<ROW_THREADS, 1>;

/* A multiprocessor has two rows of such blocks under way, by their registers, so that one computes while the other
 * waits for its memory, and not five or more: what all of them have read is still in the L2 cache when they read it
 * again (of 50304 numbers in half types, 27 MB on an H200, not 66). Kernels for it say
 * __launch_bounds__(Group::THREADS, Group::BLOCKS), so that their registers are few enough. */
using wide_group = block_group_of<WIDE_THREADS, 2>;

struct thread_group {
    static constexpr int SIZE = 1, THREADS = ROW_THREADS, BLOCKS = 1;
    __device__ static int lane() { return 0; }
    __device__ static int64_t first() { return global_thread(); }
    __device__ static int64_t stride() { return global_threads(); }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) { return x; }
    __device__ static void barrier() {}
    static int64_t blocks(int64_t rows) { return blocks_for(rows, ROW_THREADS); }
};

/* Element 0 of row `row`; neighbours in the row lie view.inner apart. */
__device__ inline int64_t row_start(const ons_axis_view &view, int64_t row) {
    return row / view.inner * view.length * view.inner + row % view.inner;
}

/* Launches KERNEL<group, …>, the group by the view. */
#define ONS_CUDA_LAUNCH_ROWS(LAUNCH, VIEW, ROWS, KERNEL, TYPES, ...)                                                   \
    do {                                                                                                               \
        if ((VIEW).inner > 1)                                                                                          \
            ons::launch(LAUNCH, KERNEL<ons::thread_group, TYPES>, ons::thread_group::blocks(ROWS), ons::ROW_THREADS,   \
                        __VA_ARGS__);                                                                                  \
        else if ((VIEW).length <= ons::WARP_ROW)                                                                       \
            ons::launch(LAUNCH, KERNEL<ons::warp_group, TYPES>, ons::warp_group::blocks(ROWS), ons::ROW_THREADS,       \
                        __VA_ARGS__);                                                                                  \
        else                                                                                                           \
            ons::launch(LAUNCH, KERNEL<ons::block_group, TYPES>, ons::block_group::blocks(ROWS), ons::ROW_THREADS,     \
                        __VA_ARGS__);                                                                                  \
    } while (0)

/* ONS_CUDA_LAUNCH_ROWS for kernels that read a row twice. */
#define ONS_CUDA_LAUNCH_ROWS_READ_TWICE(LAUNCH, VIEW, ROWS, KERNEL, TYPES, ...)                                        \
    do {                                                                                                               \
        if ((VIEW).inner == 1 && (VIEW).length > ons::NARROW_ROW)                                                      \
            ons::launch(LAUNCH, KERNEL<ons::wide_group, TYPES>, ons::wide_group::blocks(ROWS), ons::WIDE_THREADS,      \
                        __VA_ARGS__);                                                                                  \
        else                                                                                                           \
            ONS_CUDA_LAUNCH_ROWS(LAUNCH, VIEW, ROWS, KERNEL, TYPES, __VA_ARGS__);                                      \
    } while (0)

constexpr int PACK_BYTES = 16;

constexpr int PACKS_AT_ONCE = 4; /* that a thread has asked for before it looks at the first */

/* Calls f.take<COUNT>(k, row[k to k + COUNT - 1]) for the elements of a contiguous row: as many as 16 bytes hold where
 * they begin at such an address, one before and behind. Rows of odd lengths begin anywhere. What is called may write
 * what it was given over. */
template <int COUNT, class T, class F>
__device__ inline void take_pack(const raw_pack<T, COUNT> &from, int64_t k, F &f) {
    float values[COUNT];
    from.unpack(values);
    f.take(k, values);
}
template <class T, class F> __device__ inline void take_one(const T *row, int64_t k, F &f) {
    const float value[1] = {widen(row[k])};
    f.take(k, value);
}
template <class Group, class T, class F> __device__ inline void each_pack(const T *row, int64_t length, F &f) {
    constexpr int COUNT = PACK_BYTES / (int)sizeof(T);
    int64_t head = (int64_t)((PACK_BYTES - (uintptr_t)row % PACK_BYTES) % PACK_BYTES / sizeof(T));
    head = head < length ? head : length;
    int64_t tail = head + (length - head) / COUNT * COUNT;
    constexpr int64_t STEP = (int64_t)Group::SIZE * COUNT;
    int64_t k = head + (int64_t)Group::lane() * COUNT;
    if (Group::lane() < head) take_one(row, Group::lane(), f);
    for (; k + (PACKS_AT_ONCE - 1) * STEP < tail; k += PACKS_AT_ONCE * STEP) {
        raw_pack<T, COUNT> packs[PACKS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < PACKS_AT_ONCE; ++i) packs[i] = read_raw<COUNT>(row, k + i * STEP);
#pragma unroll
        for (int i = 0; i < PACKS_AT_ONCE; ++i) take_pack<COUNT>(packs[i], k + i * STEP, f);
    }
    for (; k < tail; k += STEP) take_pack<COUNT>(read_raw<COUNT>(row, k), k, f);
    if (tail + Group::lane() < length) take_one(row, tail + Group::lane(), f);
}

/* The largest so far, and Σ e^(x - largest). */
struct exponentials {
    float most = -INFINITY, total = 0;
    template <int COUNT> __device__ void take(int64_t, const float (&x)[COUNT]) {
        float before = most;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) most = larger()(x[i], most);
        if (most == -INFINITY) return;
        if (most != before) total *= expf(before - most);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) total += expf(x[i] - most);
    }
};

/* max(x) and Σ e^(x - max) of a row, for every thread of its group, in one pass. What a row of -inf alone is made of
 * them is NaN, as in PyTorch. */
template <class Group, class T>
__device__ inline void max_and_sum(const T *x, int64_t length, int64_t step, float *max, float *sum) {
    exponentials mine;
    if constexpr (Group::SIZE > 1)
        each_pack<Group>(x, length, mine);
    else
        for (int64_t k = 0; k < length; ++k) take_one(x, k * step, mine);
    *max = Group::reduce(mine.most, (float)-INFINITY, larger());
    if (mine.most != *max) mine.total *= expf(mine.most - *max);
    *sum = Group::reduce(mine.most == -INFINITY ? 0.0f : mine.total, 0.0f, add());
}

/* The sum of `count` doubles by one block, in an order that depends on the count alone; every thread gets it. */
__device__ inline double ordered_sum(const double *terms, int64_t count) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += ROW_THREADS) sum += terms[i];
    return block_reduce<ROW_THREADS>(sum, 0.0, add());
}

} // namespace ons

#endif
