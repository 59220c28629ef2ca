/* Numbers of the attributes of ScatterElements' gradient, which lines its indices go through, and how its kernels are
 * prepared; numbers of its inputs are scatter_shares.h's. For C: the .cu file includes scatter_elements_gradient.h. */
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
