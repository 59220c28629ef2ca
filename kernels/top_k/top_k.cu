#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/top_k/top_k.h"
}

/* Few results: a block looks for the next one over and over. Many: every element counts those that come before it. */
namespace {

constexpr int64_t TOP_FEW = 64;

/* Value and index as one number: larger ones come first. A NaN is the largest number. */
__device__ inline uint64_t top_key(float x, int64_t index, bool largest) {
    uint32_t order = ons::ordered_bits(x);
    return (uint64_t)(largest ? order : ~order) << 32 | ~(uint32_t)index;
}

template <class T> __global__ void top_passes(ons_top_k s, const T *x, T *values, int64_t *indices) {
    for (int64_t line = blockIdx.x; line < s.outer * s.inner; line += gridDim.x) {
        const T *from = x + line / s.inner * s.length * s.inner + line % s.inner;
        uint64_t last = 0;
        for (int64_t k = 0; k < s.k; ++k) {
            uint64_t best = 0;
            for (int64_t i = threadIdx.x; i < s.length; i += ons::ROW_THREADS) {
                uint64_t key = top_key(ons::widen(from[i * s.inner]), i, s.largest);
                if ((k == 0 || key < last) && key > best) best = key;
            }
            last = ons::block_reduce<ons::ROW_THREADS>(best, (uint64_t)0, ons::larger());
            int64_t index = (uint32_t)~last, to = (line / s.inner * s.k + k) * s.inner + line % s.inner;
            if (threadIdx.x == 0) values[to] = from[index * s.inner];
            if (threadIdx.x == 0 && indices != nullptr) indices[to] = index;
        }
    }
}

template <class T> struct top_rank {
    ons_top_k s;
    const T *x;
    T *values;
    int64_t *indices;
    __device__ void operator()(int64_t i) const {
        int64_t outer = i / (s.length * s.inner), index = i / s.inner % s.length, column = i % s.inner, rank = 0;
        const T *from = x + outer * s.length * s.inner + column;
        uint64_t own = top_key(ons::widen(from[index * s.inner]), index, s.largest);
        for (int64_t k = 0; k < s.length; ++k) rank += top_key(ons::widen(from[k * s.inner]), k, s.largest) > own;
        if (rank >= s.k) return;
        int64_t to = (outer * s.k + rank) * s.inner + column;
        values[to] = from[index * s.inner];
        if (indices != nullptr) indices[to] = index;
    }
};

template <class T> void run_top_k(const ons_launch *l, const ons_top_k *s) {
    const T *x = (const T *)l->inputs[0];
    T *values = (T *)l->outputs[0];
    int64_t *indices = (int64_t *)l->outputs[1];
    if (s->k == 0) return;
    if (s->k <= TOP_FEW && s->inner == 1) {
        ons::launch(l, top_passes<T>, s->outer, ons::ROW_THREADS, *s, x, values, indices);
        return;
    }
    top_rank<T> f = {*s, x, values, indices};
    ons::each(l, s->outer * s->length * s->inner, f);
}

} // namespace

extern "C" void ons_cuda_run_top_k(const ons_launch *launch) { ONS_CUDA_TYPED_DISPATCH(ons_top_k, run_top_k, launch); }
