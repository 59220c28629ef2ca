/* Numbers of ScatterND's inputs and attributes, where its tuples of indices point, and how its kernels are prepared.
 * For C: the .cu file includes scatter_nd.h. */
#ifndef ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_NODE_H
#define ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_NODE_H

#include "kernels/scatter_nd/scatter_nd.h"

enum { DATA, INDICES, UPDATES };

enum { REDUCTION };

static inline ons_status *find_indexing(const ons_operands *o, ons_nd_indexing *indexing, uint32_t *tail) {
    return ons_nd_indexing_of(o, &o->inputs[DATA].shape, 0, indexing, tail);
}

ons_status *ons_scatter_nd_prepare(ons_prepare *p);

#endif
