/* Work along one axis on CUDA. A row is worked on by a group of threads, chosen by its length and how its elements lie:
 *
 *     warp     contiguous and at most 1024 long
 *     block    contiguous and longer
 *     thread   elements lie apart: neighbouring threads have neighbouring columns, so that they read side by side
 *
 * A kernel is a template over the group; sums within a row go lane by lane with a stride of the group's size and are then
 * joined in a tree, always the same for the same sizes.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_ROWS_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_ROWS_CUH

#include "kernels/common/cuda.cuh"
extern "C" {
#include "kernels/common/cuda_rows.h"
}

namespace ons {

constexpr int ROW_THREADS = 256;
constexpr int64_t WARP_ROW = 1024; /* longest row of a warp */

struct warp_group {
    static constexpr int SIZE = WARP;
    __device__ static int lane() { return (int)threadIdx.x % WARP; }
    __device__ static int64_t first() { return global_thread() / WARP; }
    __device__ static int64_t stride() { return global_threads() / WARP; }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) { return warp_reduce(x, f); }
    static int64_t blocks(int64_t rows) { return blocks_for(rows * WARP, ROW_THREADS); }
};

struct block_group {
    static constexpr int SIZE = ROW_THREADS;
    __device__ static int lane() { return (int)threadIdx.x; }
    __device__ static int64_t first() { return blockIdx.x; }
    __device__ static int64_t stride() { return gridDim.x; }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) {
        return block_reduce<ROW_THREADS>(x, identity, f);
    }
    static int64_t blocks(int64_t rows) { return rows; }
};

struct thread_group {
    static constexpr int SIZE = 1;
    __device__ static int lane() { return 0; }
    __device__ static int64_t first() { return global_thread(); }
    __device__ static int64_t stride() { return global_threads(); }
    template <class T, class F> __device__ static T reduce(T x, T identity, F f) { return x; }
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

/* max(x) and Σ e^(x - max) of a row, for every thread of its group. A row of -inf alone gives NaN, as in PyTorch. */
template <class Group, class T>
__device__ inline void max_and_sum(const T *x, int64_t length, int64_t step, float *max, float *sum) {
    float most = -INFINITY;
    for (int64_t k = Group::lane(); k < length; k += Group::SIZE) most = larger()(widen(x[k * step]), most);
    most = Group::reduce(most, (float)-INFINITY, larger());
    float total = 0;
    for (int64_t k = Group::lane(); k < length; k += Group::SIZE) total += expf(widen(x[k * step]) - most);
    *sum = Group::reduce(total, 0.0f, add());
    *max = most;
}

/* The sum of `count` doubles by one block, in an order that depends on the count alone; every thread gets it. */
__device__ inline double ordered_sum(const double *terms, int64_t count) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += ROW_THREADS) sum += terms[i];
    return block_reduce<ROW_THREADS>(sum, 0.0, add());
}

} // namespace ons

#endif
