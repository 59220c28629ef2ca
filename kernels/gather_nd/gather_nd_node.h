/* Numbers of GatherND's inputs and attributes, where its tuples of indices point, and how its kernels are prepared. For
 * C: the .cu file includes gather_nd.h. */
#ifndef ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_NODE_H
#define ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_NODE_H

#include "kernels/common/operator/kernel.h"
#include "kernels/gather_nd/gather_nd.h"

enum { DATA, INDICES };

enum { BATCH_DIMS };

static inline ons_status *find_indexing(const ons_operands *o, ons_nd_indexing *indexing, uint32_t *tail) {
    return ons_nd_indexing_of(o, &o->inputs[DATA].shape, ons_attribute_int(o, BATCH_DIMS), indexing, tail);
}

ons_status *ons_gather_nd_prepare(ons_prepare *p);

#endif
