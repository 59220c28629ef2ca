/* GatherGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H
#define ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H

#include "kernels/common/indexing/indexing.h"

enum { COTANGENT, INDICES };

enum { AXIS, SHAPE };

typedef ons_gather state;

static inline state make_state(const ons_operands *o) {
    const ons_shape *table = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), table->rank, &axis);
    return (state){ons_shape_span(table, 0, axis), table->dims[axis], ons_shape_span(table, axis + 1, table->rank),
                   ons_elements(&o->inputs[INDICES]), o->inputs[INDICES].dtype};
}

#endif
