/* LayerNormalization: what its files share. */
#ifndef ONSTAGE_KERNELS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H
#define ONSTAGE_KERNELS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_H

#include "kernels/common/operator/kernel.h"
#include "kernels/normalization/layer_norm.h"

enum { AXIS, EPSILON };

static inline ons_status *find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[0], ons_attribute_int(o, AXIS), &o->inputs[1],
                             ons_has_input(o, 2) ? &o->inputs[2] : &none, norm);
}

#endif
