/* Numbers of the inputs and attributes of GatherElements' gradient, which lines its indices go through, and how its
 * kernels are prepared. For C: the .cu file includes gather_elements_gradient.h. */
#ifndef ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_GRADIENT_NODE_H

#include "graph/graph.h"
#include "graph/type.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/gather_elements/gather_elements_gradient.h"

enum { COTANGENT, INDICES };

enum { AXIS, SHAPE };

static inline ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    return ons_line_map_of(o, &shape, INDICES, ons_attribute_int(o, AXIS), map);
}

ons_status *ons_gather_elements_gradient_prepare(ons_prepare *p);

#endif
