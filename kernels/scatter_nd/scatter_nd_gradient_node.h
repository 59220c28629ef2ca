/* The number of the attribute of ScatterND's gradient, where its tuples of indices point, and how its kernels are
 * prepared; numbers of its inputs are scatter_shares.h's. For C: the .cu file includes scatter_nd_gradient.h. */
#ifndef ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_GRADIENT_NODE_H

#include "kernels/gather_scatter/scatter_shares.h"
#include "kernels/scatter_nd/scatter_nd_gradient.h"

enum { REDUCTION };

static inline ons_status *find_indexing(const ons_operands *o, ons_nd_indexing *indexing, uint32_t *tail) {
    return ons_nd_indexing_of(o, &o->inputs[ONS_SHARES_COTANGENT].shape, 0, indexing, tail);
}

ons_status *ons_scatter_nd_gradient_prepare(ons_prepare *p);

#endif
