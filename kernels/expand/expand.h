/* Expand: what its files share. */
#ifndef ONSTAGE_KERNELS_EXPAND_EXPAND_H
#define ONSTAGE_KERNELS_EXPAND_EXPAND_H

#include "kernels/backend.h"
#include "kernels/common/layout/index.h"

/* How far apart the input's elements lie along the output's axes. */
static inline void find_strides(const ons_operands *o, int64_t strides[static ONS_RANK_MAX]) {
    const ons_shape *from = &o->inputs[0].shape, *to = &o->outputs[0].shape;
    int64_t dense[ONS_RANK_MAX];
    ons_dense_strides(from, dense);
    for (uint32_t i = 0; i < to->rank; ++i) {
        uint32_t lead = to->rank - from->rank;
        strides[i] = i < lead || from->dims[i - lead] == 1 ? 0 : dense[i - lead];
    }
}

ons_status *ons_expand_prepare(ons_prepare *p);

#endif
