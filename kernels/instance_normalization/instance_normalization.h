/* InstanceNormalization: what its files share. */
#ifndef ONSTAGE_KERNELS_INSTANCE_NORMALIZATION_INSTANCE_NORMALIZATION_H
#define ONSTAGE_KERNELS_INSTANCE_NORMALIZATION_INSTANCE_NORMALIZATION_H

#include "kernels/normalization/group_norm.h"

enum { EPSILON };

static inline ons_status *find_norm(const ons_operands *o, ons_group_norm *norm) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t groups = shape->rank > 1 && shape->dims[1] > 0 ? shape->dims[1] : 1;
    return ons_group_norm_of(o, &o->inputs[0], &o->inputs[1], groups, false, norm);
}

#endif
