/* DeformConv: what its files share. */
#ifndef ONSTAGE_KERNELS_DEFORM_CONV_DEFORM_CONV_H
#define ONSTAGE_KERNELS_DEFORM_CONV_DEFORM_CONV_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/deform_conv/deformable.h"

enum { X, W, OFFSET, BIAS, MASK };

static inline ons_status *resolve_deformable(const ons_operands *o, ons_deformable *d) {
    static const ons_type none = {0};
    return ons_deformable_resolve(o, &o->inputs[X], &o->inputs[W], &o->inputs[OFFSET],
                                  ons_has_input(o, MASK) ? &o->inputs[MASK] : &none, d);
}

#endif
