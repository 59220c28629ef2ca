/* PadGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_PAD_PAD_GRADIENT_H
#define ONSTAGE_KERNELS_PAD_PAD_GRADIENT_H

#include "kernels/pad/padding.h"

enum { SHAPE = ONS_PADDING_MODE + 1 };

static inline ons_status *padding_of(const ons_operands *o, ons_padding *padding) {
    const ons_attribute *given = &o->attributes[SHAPE];
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    ONS_TRY(ons_padding_of(o, &shape, padding));
    if (!ons_shape_equal(&padding->output, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the padded tensor");
    return NULL;
}

#endif
