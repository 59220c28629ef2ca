/* The box that Slice takes out of a tensor; shared with its gradient. */
#ifndef ONSTAGE_KERNELS_SLICE_SLICING_H
#define ONSTAGE_KERNELS_SLICE_SLICING_H

#include "kernels/common/layout/strided.h"

typedef struct ons_slicing {
    int64_t starts[ONS_RANK_MAX];
    int64_t steps[ONS_RANK_MAX];
    ons_shape result;
} ons_slicing;

/* From the operator's inputs 1 to 4 (starts, ends, axes, steps; the last two may be left out), for a tensor of `shape`.
 */
ons_status *ons_slicing_of(const ons_operands *o, const ons_shape *shape, ons_slicing *slicing);

/* The planned copy between the box in the tensor and the result, which lies as the tensor does: in ONNX's order or with
 * channels last. */
ons_strided ons_slicing_copy(const ons_slicing *slicing, const ons_type *tensor, bool to_tensor);

/* Number of the tensor's element that belongs to element `number` of the result. */
int64_t ons_slicing_source(const ons_slicing *slicing, const ons_shape *shape, int64_t number);

/* The input of the gradient that is added to; it may be left out, and be the output's memory. */
enum { ONS_SLICE_GRADIENT_ADDED = 5 };

/* The state of the gradient's kernels. */
typedef struct ons_slice_gradient {
    ons_strided copy;
    int64_t elements; /* of the slice */
    int64_t bytes;    /* of the tensor */
    bool adds;        /* to a tensor, not to zeros */
    bool covers;      /* the slice is everything: no zeros are needed */
} ons_slice_gradient;

ons_status *ons_slice_prepare(ons_prepare *p);
ons_status *ons_slice_gradient_prepare(ons_prepare *p);

#endif
