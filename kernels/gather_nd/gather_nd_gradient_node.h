/* Numbers of the inputs and attributes of GatherND's gradient, where its tuples of indices point, and how its kernels
 * are prepared. For C: the .cu file includes gather_nd_gradient.h. */
#ifndef ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_GRADIENT_NODE_H

#include "graph/graph.h"
#include "graph/type.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/gather_nd/gather_nd_gradient.h"

enum { COTANGENT, INDICES };

enum { BATCH_DIMS, SHAPE };

static inline ons_status *find_indexing(const ons_operands *o, ons_shape *shape, ons_nd_indexing *indexing,
                                        uint32_t *tail) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    *shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(shape), "node '%s'", o->name);
    return ons_nd_indexing_of(o, shape, ons_attribute_int(o, BATCH_DIMS), indexing, tail);
}

ons_status *ons_gather_nd_gradient_prepare(ons_prepare *p);

#endif
