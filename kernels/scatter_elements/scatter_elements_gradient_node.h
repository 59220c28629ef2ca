/* How the C files of this folder see a node. */
#ifndef ONSTAGE_KERNELS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_SCATTER_ELEMENTS_SCATTER_ELEMENTS_GRADIENT_NODE_H

#include "kernels/gather_scatter/scatter_shares.h"
#include "kernels/scatter_elements/scatter_elements_gradient.h"

enum { AXIS, REDUCTION };

static inline ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    return ons_line_map_of(o, &o->inputs[ONS_SHARES_COTANGENT].shape, ONS_SHARES_INDICES, ons_attribute_int(o, AXIS),
                           map);
}

ons_status *ons_scatter_elements_gradient_prepare(ons_prepare *p);

#endif
