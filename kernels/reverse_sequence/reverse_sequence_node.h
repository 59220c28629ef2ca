/* Numbers of ReverseSequence's inputs and attributes, its sizes, and what copies one slice. For C: the .cu file
 * includes reverse_sequence.h. */
#ifndef ONSTAGE_KERNELS_REVERSE_SEQUENCE_REVERSE_SEQUENCE_NODE_H
#define ONSTAGE_KERNELS_REVERSE_SEQUENCE_REVERSE_SEQUENCE_NODE_H

#include "kernels/reverse_sequence/reverse_sequence.h"

enum { DATA, LENGTHS };

enum { BATCH_AXIS, TIME_AXIS };

static inline ons_reverse_sequence make_state(const ons_operands *o, int64_t element_bytes) {
    const ons_shape *shape = &o->inputs[DATA].shape;
    int64_t slice = ons_shape_span(shape, 2, shape->rank) * element_bytes;
    return (ons_reverse_sequence){shape->dims[0], shape->dims[1], slice,
                                  slice == 0 ? 0 : shape->dims[0] * shape->dims[1],
                                  ons_attribute_int(o, BATCH_AXIS) == 0};
}

/* One slice; false where its sample's length is no number of steps (then it is copied as it is). */
bool ons_reverse_sequence_copy_slice(const ons_reverse_sequence *s, int64_t number, const int64_t *lengths,
                                     const char *from, char *to);

ons_status *ons_reverse_sequence_prepare(ons_prepare *p);

#endif
