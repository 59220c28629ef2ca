/* GatherGradient and GatherShardGradient: what their files share. */
#ifndef ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H
#define ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H

#include "kernels/common/indexing/indexing.h"

enum { COTANGENT, INDICES };

enum { AXIS, SHAPE, FIRST, ENTRIES }; /* the last two: of GatherShardGradient alone */

typedef ons_gather state;

static inline state make_state(const ons_operands *o) {
    const ons_shape *table = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), table->rank, &axis);
    bool shard = ons_operator_attributes(o->op) > FIRST;
    return (state){
        .outer = ons_shape_span(table, 0, axis),
        .length = table->dims[axis],
        .inner = ons_shape_span(table, axis + 1, table->rank),
        .count = ons_elements(&o->inputs[INDICES]),
        .index_dtype = o->inputs[INDICES].dtype,
        .first = shard ? ons_attribute_int(o, FIRST) : 0,
        .entries = shard ? ons_attribute_int(o, ENTRIES) : table->dims[axis],
    };
}

ons_infer_function ons_gather_gradient_infer;
ons_reference_function ons_gather_gradient_reference;

ons_status *ons_gather_gradient_prepare(ons_prepare *p);
ons_status *ons_gather_gradient_cuda_prepare(ons_prepare *p);
ons_run_function ons_gather_gradient_run;

#endif
