/* Gather, and GatherShard, which looks up what a shard of the table has of it: what their files share. */
#ifndef ONSTAGE_KERNELS_GATHER_GATHER_H
#define ONSTAGE_KERNELS_GATHER_GATHER_H

#include "kernels/common/indexing/indexing.h"

enum { DATA, INDICES };

/* PADDING: the entry that gets no gradient from this lookup, as PyTorch's embedding has one; absent: all get theirs.
 * BY_FREQUENCY: PyTorch divides the gradient by how often each entry is looked up, which is noted and not done. The
 * last two: of GatherShard alone. */
enum { AXIS, PADDING, BY_FREQUENCY, FIRST, ENTRIES };

typedef ons_gather state;

static inline state make_state(const ons_operands *o, int64_t element_bytes) {
    const ons_shape *data = &o->inputs[DATA].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), data->rank, &axis);
    bool shard = ons_operator_attributes(o->op) > FIRST;
    return (state){
        .outer = ons_shape_span(data, 0, axis),
        .length = data->dims[axis],
        .inner = ons_shape_span(data, axis + 1, data->rank) * element_bytes,
        .count = ons_elements(&o->inputs[INDICES]),
        .index_dtype = o->inputs[INDICES].dtype,
        .first = shard ? ons_attribute_int(o, FIRST) : 0,
        .entries = shard ? ons_attribute_int(o, ENTRIES) : data->dims[axis],
        .skipped = -1,
    };
}

/* Checks data, of `entries` along the axis, and indices; sets the result's type. */
ons_status *ons_gather_infer_of(ons_operands *o, uint32_t axis, int64_t entries);
ons_reference_function ons_gather_reference;

ons_status *ons_gather_prepare(ons_prepare *p);
ons_run_function ons_gather_run;

#endif
