/* DeformConvGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_DEFORM_CONV_DEFORM_CONV_GRADIENT_H
#define ONSTAGE_KERNELS_DEFORM_CONV_DEFORM_CONV_GRADIENT_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/deform_conv/deformable.h"

enum { DY, X, W, OFFSET, MASK };

enum { DX, DW, DOFFSET, DMASK };

static inline ons_status *resolve_deformable(const ons_operands *o, ons_deformable *d) {
    static const ons_type none = {0};
    ONS_TRY(ons_deformable_resolve(o, &o->inputs[X], &o->inputs[W], &o->inputs[OFFSET],
                                   ons_has_input(o, MASK) ? &o->inputs[MASK] : &none, d));
    if (!ons_shape_equal(&d->y.shape, &o->inputs[DY].shape))
        return ons_node_error(o, "the gradient does not have the shape of the convolution's output");
    return NULL;
}

#endif
