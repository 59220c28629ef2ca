/* Numbers of OneHot's inputs and attributes, its sizes, and its index where that is a float. For C: the .cu file
 * includes one_hot.h. */
#ifndef ONSTAGE_KERNELS_ONE_HOT_ONE_HOT_NODE_H
#define ONSTAGE_KERNELS_ONE_HOT_ONE_HOT_NODE_H

#include "kernels/one_hot/one_hot.h"

enum { INDICES, DEPTH, VALUES };

enum { AXIS };

static inline ons_one_hot make_state(const ons_operands *o) {
    const ons_shape *shape = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), shape->rank, &axis);
    return (ons_one_hot){
        ons_shape_span(shape, 0, axis), shape->dims[axis],        ons_shape_span(shape, axis + 1, shape->rank),
        ons_elements(&o->outputs[0]),   o->inputs[INDICES].dtype, ons_dtype_size(o->outputs[0].dtype)};
}

/* An index given as a float; one that is no index at all points outside. */
static inline int64_t whole(double index) { return index > -0x1p52 && index < 0x1p52 ? (int64_t)index : INT64_MAX; }

ons_status *ons_one_hot_prepare(ons_prepare *p);

#endif
