/* Gather: what its files share. */
#ifndef ONSTAGE_KERNELS_GATHER_GATHER_H
#define ONSTAGE_KERNELS_GATHER_GATHER_H

#include "kernels/common/indexing/indexing.h"

enum { DATA, INDICES };

enum { AXIS };

typedef ons_gather state;

static inline state make_state(const ons_operands *o, int64_t element_bytes) {
    const ons_shape *data = &o->inputs[DATA].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), data->rank, &axis);
    return (state){ons_shape_span(data, 0, axis), data->dims[axis],
                   ons_shape_span(data, axis + 1, data->rank) * element_bytes, ons_elements(&o->inputs[INDICES]),
                   o->inputs[INDICES].dtype};
}

ons_status *ons_gather_prepare(ons_prepare *p);

#endif
