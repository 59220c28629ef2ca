/* Concat: what its files share. */
#ifndef ONSTAGE_KERNELS_CONCAT_CONCAT_H
#define ONSTAGE_KERNELS_CONCAT_CONCAT_H

#include "kernels/common/operator/kernel.h"

enum { AXIS };

static inline uint32_t concat_axis(const ons_operands *o) {
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[0].shape.rank, &axis);
    return axis;
}

ons_status *ons_concat_prepare(ons_prepare *p);

#endif
