/* ConvInputGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_CONV_CONV_INPUT_GRADIENT_H
#define ONSTAGE_KERNELS_CONV_CONV_INPUT_GRADIENT_H

#include "kernels/convolution/convolution.h"

enum { INPUT_SHAPE = ONS_CONVOLUTION_GROUP + 1 };

static inline ons_status *resolve_conv(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_INPUT_GRADIENT};
    ons_type x = ons_type_make(o->inputs[0].dtype, (ons_shape){0});
    ONS_TRY(ons_window_shape_attribute(o, INPUT_SHAPE, &x.shape));
    ONS_TRY(ons_convolution_resolve(o, &x, &o->inputs[1], c));
    if (!ons_shape_equal(&c->y.shape, &o->inputs[0].shape))
        return ons_node_error(o, "the gradient does not have the shape of the convolution's output");
    c->y.layout = o->inputs[0].layout;
    return NULL;
}

#endif
