/* Numbers of GatherElements' inputs and attributes, which lines its indices go through, and how its kernels are
 * prepared. For C: the .cu file includes gather_elements.h. */
#ifndef ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_NODE_H
#define ONSTAGE_KERNELS_GATHER_ELEMENTS_GATHER_ELEMENTS_NODE_H

#include "kernels/common/operator/kernel.h"
#include "kernels/gather_elements/gather_elements.h"

enum { DATA, INDICES };

enum { AXIS };

static inline ons_status *find_map(const ons_operands *o, ons_line_map *map) {
    return ons_line_map_of(o, &o->inputs[DATA].shape, INDICES, ons_attribute_int(o, AXIS), map);
}

ons_status *ons_gather_elements_prepare(ons_prepare *p);

#endif
