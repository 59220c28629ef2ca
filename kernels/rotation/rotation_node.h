/* Numbers of Rotation's inputs, its sizes from a node, and where a row's sines and cosines lie. For C: the .cu file
 * includes rotation.h. */
#ifndef ONSTAGE_KERNELS_ROTATION_ROTATION_NODE_H
#define ONSTAGE_KERNELS_ROTATION_ROTATION_NODE_H

#include "graph/operator.h"
#include "kernels/rotation/rotation.h"

enum { X, COSINES, SINES };

ons_status *ons_rotation_resolve(const ons_operands *o, ons_rotation *r);

/* Where the numbers of row `row` begin in the tables. */
static inline int64_t table_offset(const ons_rotation *r, int64_t row) {
    int64_t offset = 0;
    for (uint32_t i = r->rank; i-- > 0;) {
        offset += row % r->dims[i] * r->strides[i];
        row /= r->dims[i];
    }
    return offset;
}

ons_status *ons_rotation_prepare(ons_prepare *p);

#endif
