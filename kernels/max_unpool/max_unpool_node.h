/* The shapes of MaxUnpool, from a node, and where an index points in the larger one. For C: the .cu file includes
 * max_unpool.h. */
#ifndef ONSTAGE_KERNELS_MAX_UNPOOL_MAX_UNPOOL_NODE_H
#define ONSTAGE_KERNELS_MAX_UNPOOL_MAX_UNPOOL_NODE_H

#include "graph/operator.h"
#include "kernels/max_unpool/max_unpool.h"

/* The shape that the indices count through, and the output's. */
ons_status *ons_max_unpool_find_shapes(const ons_operands *o, ons_shape *made, ons_shape *whole);

/* Where an index of the made shape lies in the whole one. */
static inline int64_t place_of(const ons_shape *made, const ons_shape *whole, int64_t index) {
    int64_t place = 0, scale = 1;
    for (uint32_t i = made->rank; i-- > 0;) {
        place += index % made->dims[i] * scale;
        scale *= whole->dims[i];
        index /= made->dims[i];
    }
    return place;
}

ons_status *ons_max_unpool_prepare(ons_prepare *p);

#endif
