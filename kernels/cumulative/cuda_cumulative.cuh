/* CumSum and CumProd on CUDA: lines that lie apart by a thread each, in order; contiguous ones by a warp each, 32
 * elements at a time, joined in a tree. In double, as a long running sum would lose its digits. */
#ifndef ONSTAGE_KERNELS_CUMULATIVE_CUDA_CUMULATIVE_CUH
#define ONSTAGE_KERNELS_CUMULATIVE_CUDA_CUMULATIVE_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/cumulative/cumulative.h"
}

namespace ons {

struct times {
    template <class T> __device__ T operator()(T a, T b) const { return a * b; }
};

__device__ inline int64_t cumulative_place(const ons_cumulative &s, int64_t line, int64_t step) {
    return (line / s.inner * s.length + (s.reverse ? s.length - 1 - step : step)) * s.inner + line % s.inner;
}

template <class F, class T> struct cumulative_line {
    ons_cumulative s;
    double identity;
    const T *in;
    T *out;
    __device__ void operator()(int64_t line) const {
        double so_far = identity;
        for (int64_t i = 0; i < s.length; ++i) {
            int64_t at = cumulative_place(s, line, i);
            double with = F()(so_far, (double)widen(in[at]));
            out[at] = narrow<T>(s.exclusive ? so_far : with);
            so_far = with;
        }
    }
};

template <class F, class T> __global__ void cumulative_warps(ons_cumulative s, double identity, const T *in, T *out) {
    int lane = (int)threadIdx.x % WARP;
    for (int64_t line = warp_group::first(); line < s.outer; line += warp_group::stride()) {
        double before = identity;
        for (int64_t begin = 0; begin < s.length; begin += WARP) {
            int64_t i = begin + lane, at = i < s.length ? cumulative_place(s, line, i) : 0;
            double value = i < s.length ? (double)widen(in[at]) : identity;
            for (int distance = 1; distance < WARP; distance *= 2) {
                double other = __shfl_sync(0xffffffffu, value, lane < distance ? lane : lane - distance);
                if (lane >= distance) value = F()(other, value);
            }
            double left = __shfl_sync(0xffffffffu, value, lane == 0 ? 0 : lane - 1);
            if (i < s.length && s.exclusive) out[at] = narrow<T>(lane == 0 ? before : F()(before, left));
            if (i < s.length && !s.exclusive) out[at] = narrow<T>(F()(before, value));
            before = F()(before, __shfl_sync(0xffffffffu, value, WARP - 1));
        }
    }
}

template <class F, class T> void run_cumulative(const ons_launch *l, const ons_cumulative *s, double identity) {
    const T *in = (const T *)l->inputs[0];
    T *out = (T *)l->outputs[0];
    if (s->inner == 1 && s->length > WARP) {
        launch(l, cumulative_warps<F, T>, warp_group::blocks(s->outer), ROW_THREADS, *s, identity, in, out);
        return;
    }
    cumulative_line<F, T> f = {*s, identity, in, out};
    each(l, s->outer * s->inner, f);
}

} // namespace ons

#endif
