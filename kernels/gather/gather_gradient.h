/* GatherGradient and GatherShardGradient: what their files share. */
#ifndef ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H
#define ONSTAGE_KERNELS_GATHER_GATHER_GRADIENT_H

#include "kernels/common/indexing/indexing.h"

enum { COTANGENT, INDICES };

/* PADDING: as in gather.h; the last two: of GatherShardGradient alone. */
enum { AXIS, SHAPE, PADDING, FIRST, ENTRIES };

typedef ons_gather state;

static inline state make_state(const ons_operands *o) {
    const ons_shape *table = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), table->rank, &axis);
    bool shard = ons_operator_attributes(o->op) > FIRST;
    int64_t first = shard ? ons_attribute_int(o, FIRST) : 0;
    int64_t skipped = ons_has_attribute(o, PADDING) ? ons_attribute_int(o, PADDING) - first : -1;
    return (state){
        .outer = ons_shape_span(table, 0, axis),
        .length = table->dims[axis],
        .inner = ons_shape_span(table, axis + 1, table->rank),
        .count = ons_elements(&o->inputs[INDICES]),
        .index_dtype = o->inputs[INDICES].dtype,
        .first = first,
        .entries = shard ? ons_attribute_int(o, ENTRIES) : table->dims[axis],
        .skipped = skipped < table->dims[axis] ? skipped : -1, /* another shard may have it */
    };
}

/* The row to which a place's cotangent is added, or -1. */
ONS_HOST_DEVICE static inline int64_t ons_gather_gradient_row(const state *s, int64_t index) {
    int64_t row = ons_gather_row(s, index);
    return row == s->skipped ? -1 : row;
}

ons_infer_function ons_gather_gradient_infer;
ons_reference_function ons_gather_gradient_reference;

ons_status *ons_gather_gradient_prepare(ons_prepare *p);
ons_status *ons_gather_gradient_cuda_prepare(ons_prepare *p);
ons_run_function ons_gather_gradient_run;

#endif
