/* The place of the largest or smallest element along an axis, on CUDA: ArgMax, ArgMin, Hardmax. */
#ifndef ONSTAGE_KERNELS_ARGMINMAX_CUDA_ARGMINMAX_CUH
#define ONSTAGE_KERNELS_ARGMINMAX_CUDA_ARGMINMAX_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/argminmax/argminmax.h"
}

namespace ons {

/* Value and index as one number: the largest is that of the element that wins. A NaN wins; of equal elements the first
 * or last. */
__device__ inline uint64_t argminmax_key(float x, int64_t index, bool largest, bool last) {
    uint32_t order = ordered_bits(x);
    if (!largest && x == x) order = ~order;
    return (uint64_t)order << 32 | (last ? (uint32_t)index : ~(uint32_t)index);
}

template <class Group, class T>
__device__ inline int64_t argminmax_of_row(const ons_axis_view &view, int64_t start, const T *x, bool largest,
                                           bool last) {
    uint64_t best = 0;
    for (int64_t k = Group::lane(); k < view.length; k += Group::SIZE) {
        uint64_t key = argminmax_key(widen(x[start + k * view.inner]), k, largest, last);
        best = key > best ? key : best;
    }
    best = Group::reduce(best, (uint64_t)0, larger());
    return last ? (uint32_t)best : (uint32_t)~best;
}

template <class Group, class T>
__global__ void argminmax_indices(ons_axis_view view, bool largest, bool last, const T *x, int64_t *out) {
    for (int64_t row = Group::first(); row < view.outer * view.inner; row += Group::stride()) {
        int64_t index = argminmax_of_row<Group>(view, row_start(view, row), x, largest, last);
        if (Group::lane() == 0) out[row] = index;
    }
}

template <class T> void run_argminmax(const ons_launch *l, const ons_argminmax *s, bool largest) {
    ons_axis_view view = {s->outer, s->length, s->inner};
    ONS_CUDA_LAUNCH_ROWS(l, view, view.outer * view.inner, argminmax_indices, T, view, largest, s->last,
                         (const T *)l->inputs[0], (int64_t *)l->outputs[0]);
}

} // namespace ons

#endif
