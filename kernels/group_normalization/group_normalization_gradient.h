/* GroupNormalizationGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_GROUP_NORMALIZATION_GROUP_NORMALIZATION_GRADIENT_H
#define ONSTAGE_KERNELS_GROUP_NORMALIZATION_GROUP_NORMALIZATION_GRADIENT_H

#include "kernels/normalization/group_norm.h"

enum { GROUPS, SCALE_PER_GROUP };

static inline ons_status *find_norm(const ons_operands *o, ons_group_norm *norm) {
    return ons_group_norm_of(o, &o->inputs[1], &o->inputs[2], ons_attribute_int(o, GROUPS),
                             ons_attribute_int(o, SCALE_PER_GROUP) != 0, norm);
}

#endif
