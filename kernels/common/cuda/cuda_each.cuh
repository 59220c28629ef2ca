/* The simplest kernels on CUDA: a function object called once for every number from 0 on, by neighbouring threads for
 * neighbouring numbers. What several calls write must not overlap; what adds up must do so within one call. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_CUDA_EACH_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_CUDA_EACH_CUH

#include "kernels/common/cuda/cuda.cuh"

namespace ons {

constexpr int EACH_THREADS = 256;

template <class F> __global__ void call_each(int64_t count, F f) {
    for (int64_t i = global_thread(); i < count; i += global_threads()) f(i);
}

template <class F> void each(const ons_launch *l, int64_t count, const F &f) {
    launch(l, call_each<F>, blocks_for(count, EACH_THREADS), EACH_THREADS, count, f);
}

/* As many threads as keep a GPU busy, for functions that begin with something worth doing once a thread. */
constexpr int64_t BLOCKS_ENOUGH = 2048;
inline int64_t few_blocks(int64_t items) {
    int64_t blocks = blocks_for(items, EACH_THREADS);
    return blocks < BLOCKS_ENOUGH ? blocks : BLOCKS_ENOUGH;
}

inline void copy_bytes(const ons_launch *l, void *to, const void *from, int64_t bytes) {
    if (bytes > 0 && to != from)
        (void)cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)l->stream);
}

inline void zero_bytes(const ons_launch *l, void *to, int64_t bytes) {
    if (bytes > 0) (void)cudaMemsetAsync(to, 0, (size_t)bytes, (cudaStream_t)l->stream);
}

/* Where number `number` lies in a dense tensor of that shape, axis by axis. */
__device__ inline void unravel(const ons_shape &shape, int64_t number, int64_t *index) {
    for (int d = (int)shape.rank - 1; d >= 0; --d) {
        int64_t rest = number / shape.dims[d];
        index[d] = number - rest * shape.dims[d];
        number = rest;
    }
}
__device__ inline int64_t ravel(const ons_shape &shape, const int64_t *index) {
    int64_t number = 0;
    for (uint32_t d = 0; d < shape.rank; ++d) number = number * shape.dims[d] + index[d];
    return number;
}

/* A float as an unsigned number of the same order: NaN above all, 0 and -0 alike. */
__device__ inline uint32_t ordered_bits(float x) {
    uint32_t bits;
    x = x == 0 ? 0.0f : x;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return 0xffffffffu;
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

} // namespace ons

#endif
