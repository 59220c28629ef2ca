/* Running sums and products along an axis: CumSum and CumProd. Input 1 is the axis; attributes exclusive and reverse.
 */
#ifndef ONSTAGE_KERNELS_CUMULATIVE_CUMULATIVE_H
#define ONSTAGE_KERNELS_CUMULATIVE_CUMULATIVE_H

#include "kernels/common/operator/kernel.h"

enum { ONS_CUMULATIVE_EXCLUSIVE, ONS_CUMULATIVE_REVERSE };
#define ONS_CUMULATIVE_ATTRIBUTES ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("exclusive", 0), ONS_INT_ATTRIBUTE("reverse", 0))

typedef struct ons_cumulative {
    int64_t outer, length, inner;
    bool exclusive, reverse;
} ons_cumulative;

/* Lines of neighbouring columns are worked on side by side. */
enum { ONS_CUMULATIVE_COLUMNS = 32 };

static inline ons_status *ons_cumulative_of(const ons_operands *o, ons_cumulative *s) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t axes[ONS_INTEGERS_MAX];
    uint32_t count, axis;
    ONS_TRY(ons_constant_integers(o, 1, axes, &count));
    if (count != 1) return ons_node_error(o, "the axis must be one number");
    ONS_TRY(ons_node_axis(o, axes[0], shape->rank, &axis));
    *s = (ons_cumulative){
        ons_shape_span(shape, 0, axis), shape->dims[axis], ons_shape_span(shape, axis + 1, shape->rank),
        ons_attribute_int(o, ONS_CUMULATIVE_EXCLUSIVE) != 0, ons_attribute_int(o, ONS_CUMULATIVE_REVERSE) != 0};
    return NULL;
}

static inline ons_status *ons_cumulative_infer(ons_operands *o) {
    ons_cumulative s;
    ONS_TRY(ons_cumulative_of(o, &s));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* The element that comes `step`-th. */
static inline int64_t ons_cumulative_place(const ons_cumulative *s, int64_t outer, int64_t inner, int64_t step) {
    return (outer * s->length + (s->reverse ? s->length - 1 - step : step)) * s->inner + inner;
}

/* For kernels whose state is an ons_cumulative: float32 alone. */
ons_status *ons_cumulative_prepare(ons_prepare *p);

#endif
