/* Elementwise operators in one kernel: what every such kernel shares. A kernel itself is made by fused_source.c:
 *
 *     template <int COUNT, class Index> void fused(arguments)   reads inputs, computes step by step, writes outputs
 *     ons_fused_wide                                            four or eight neighbouring elements a thread
 *     ons_fused_1                                               one element a thread
 *
 * All inputs of an element are read before an output is written, so an output may be an input's memory. */
#ifndef ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_CUH
#define ONSTAGE_KERNELS_FUSED_ELEMENTWISE_FUSED_CUH

#include "kernels/common/elementwise/cuda_elementwise.cuh"
#include "kernels/fused_elementwise/fused_arguments.h"

namespace ons {

/* Where item `item` of each input begins, in elements. Items are of COUNT elements of the innermost dimension. */
template <int COUNT, class Index, int INPUTS>
__device__ inline void fused_walk(const ons_fused_arguments &g, Index item, Index (&at)[INPUTS]) {
#pragma unroll
    for (int k = 0; k < INPUTS; ++k) at[k] = 0;
    Index rest = item;
#pragma unroll
    for (int d = 0; d < ONS_FUSED_RANK; ++d) {
        if (d >= (int)g.rank) break;
        Index index = rest;
        if (d + 1 < (int)g.rank) {
            Index size = (Index)g.dims[d] / (d == 0 ? COUNT : 1);
            rest = index / size;
            index -= rest * size;
        }
        if (d == 0) index *= COUNT;
#pragma unroll
        for (int k = 0; k < INPUTS; ++k) at[k] += index * (Index)g.strides[k][d];
    }
}

template <class F> __device__ inline F fused_formula(const ons_fused_arguments &g, int join) {
    F f;
#pragma unroll
    for (int i = 0; i < FORMULA_PARAMETERS; ++i) f.parameters[i] = g.parameters[join][i];
    return f;
}

} // namespace ons

#endif
