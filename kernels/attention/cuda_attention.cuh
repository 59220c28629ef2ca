/* Attention and its gradient on CUDA, without the matrix of scores ever being in memory.
 *
 * A warp has one query (or, for the gradients of keys and values, one key). It goes through the keys 32 at a time: each
 * lane makes one score, softmax goes on from what was seen before (Milakov and Gimelshein, "Online normalizer
 * calculation for softmax", 2018), and then each lane adds up its own elements of the result. Every sum has one owner
 * and one order.
 *
 * It is right, and fit for what has no better kernel: products of single elements do not use the matrix units.
 */
#ifndef ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_CUH
#define ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/attention/cuda_attention.h"
#include "kernels/common/math/far.h"
}

namespace ons {

constexpr int ATTENTION_WARPS = 4;
constexpr int ATTENTION_THREADS = ATTENTION_WARPS * WARP;
constexpr int ATTENTION_PIECES = ONS_CUDA_ATTENTION_SIZE / WARP; /* elements of a result that a lane has */

/* The warp's item as batch, head, position. */
struct attention_place {
    int64_t batch, head, position;
};
__device__ inline attention_place place_of(const ons_attention &a, int64_t item, int64_t positions) {
    int64_t rest = item / positions;
    return {rest / a.heads, rest % a.heads, item % positions};
}

__device__ inline int64_t start_of(const ons_attention_steps &steps, const attention_place &at, int64_t position) {
    return steps.start + at.batch * steps.batch + at.head * steps.head + position * steps.position;
}

/* A vector of a.size elements into the warp's shared memory. */
template <class T>
__device__ inline void take(const ons_attention &a, const T *from, int64_t start, int64_t step, float *to) {
    for (int64_t d = threadIdx.x % WARP; d < a.size; d += WARP) to[d] = widen(from[start + d * step]);
}

template <class T>
__device__ inline float dot(const ons_attention &a, const float *vector, const T *other, int64_t start, int64_t step) {
    float sum = 0;
    for (int64_t d = 0; d < a.size; ++d) sum += vector[d] * widen(other[start + d * step]);
    return sum;
}

/* Masks are float32, whatever the operands are. */
__device__ inline float masked(const ons_attention &a, float score, const float *mask, const attention_place &at,
                               int64_t i, int64_t j) {
    score *= a.scale;
    return a.has_mask ? score + mask[start_of(a.mask, at, i) + j * a.mask.size] : score;
}

/* Whether a score has no gradient, as a mask has taken its place, though its probability is not 0: in far rows. */
__device__ inline bool is_closed(const ons_attention &a, const float *mask, const attention_place &at, int64_t i,
                                 int64_t j, float saved) {
    if (!a.chosen || !a.has_mask || !ons_is_far(saved)) return false;
    return mask[start_of(a.mask, at, i) + j * a.mask.size] <= ONS_ATTENTION_HIDDEN;
}

/* By what the probability of a pair is multiplied after softmax. */
__device__ inline float kept_factor(const ons_attention &a, const uint8_t *kept, const attention_place &at, int64_t i,
                                    int64_t j) {
    if (!a.has_kept) return 1;
    return kept[((at.batch * a.heads + at.head) * a.queries + i) * a.keys + j] != 0 ? a.kept_scale : 0;
}

/* sums[piece] += weight of lane t × row t, for `count` rows of which row 0 begins at `start`. */
template <class T>
__device__ inline void add_rows(const ons_attention &a, float weight, const T *rows, int64_t start, int64_t row_step,
                                int64_t step, int64_t count, float (&sums)[ATTENTION_PIECES]) {
    int lane = (int)threadIdx.x % WARP;
    for (int t = 0; t < WARP; ++t) {
        float w = __shfl_sync(0xffffffffu, weight, t);
        if (t >= count) continue;
#pragma unroll
        for (int piece = 0; piece < ATTENTION_PIECES; ++piece) {
            int64_t d = piece * WARP + lane;
            if (d < a.size) sums[piece] += w * widen(rows[start + t * row_step + d * step]);
        }
    }
}

template <class T>
__device__ inline void put_row(const ons_attention &a, const float (&sums)[ATTENTION_PIECES], float factor, T *to,
                               int64_t start, int64_t step) {
#pragma unroll
    for (int piece = 0; piece < ATTENTION_PIECES; ++piece) {
        int64_t d = piece * WARP + (int)threadIdx.x % WARP;
        if (d < a.size) to[start + d * step] = narrow<T>(sums[piece] * factor);
    }
}

/* What cuDNN reads of dropped probabilities. */
template <int COUNT, class T> __global__ void write_kept_numbers(int64_t items, const uint8_t *kept, T *to) {
    for (int64_t i = global_thread(); i < items; i += global_threads()) {
        pack<uint8_t, COUNT> from = *reinterpret_cast<const pack<uint8_t, COUNT> *>(kept + i * COUNT);
        float numbers[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) numbers[k] = from.at[k] != 0 ? 1.0f : 0.0f;
        write<COUNT>(to, i * COUNT, numbers);
    }
}

template <class T> void write_kept_as(const ons_launch *l, int64_t count, const uint8_t *kept, T *to) {
    constexpr int COUNT = 8, THREADS = 256;
    if (count % COUNT == 0 && is_aligned(kept, COUNT) && is_aligned(to, COUNT * sizeof(T)))
        launch(l, write_kept_numbers<COUNT, T>, blocks_for(count / COUNT, THREADS), THREADS, count / COUNT, kept, to);
    else
        launch(l, write_kept_numbers<1, T>, blocks_for(count, THREADS), THREADS, count, kept, to);
}

/* An ons_cudnn_kept_function. */
inline void write_kept(const ons_launch *l, ons_dtype dtype, int64_t count, const uint8_t *kept, void *to) {
    if (dtype == ONS_FLOAT16)
        write_kept_as(l, count, kept, (__half *)to);
    else
        write_kept_as(l, count, kept, (__nv_bfloat16 *)to);
}

} // namespace ons

#endif
