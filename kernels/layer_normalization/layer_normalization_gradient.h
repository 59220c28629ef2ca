/* LayerNormalizationGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_GRADIENT_H
#define ONSTAGE_KERNELS_LAYER_NORMALIZATION_LAYER_NORMALIZATION_GRADIENT_H

#include "kernels/common/operator/kernel.h"
#include "kernels/normalization/layer_norm.h"

enum { EXTRA = 5 }; /* see ons_norm_gradient_check */

static inline ons_status *find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[1], ons_attribute_int(o, 0), &o->inputs[2], &none, norm);
}

#endif
