/* Conv: what its files share. */
#ifndef ONSTAGE_KERNELS_CONV_CONV_H
#define ONSTAGE_KERNELS_CONV_CONV_H

#include "kernels/convolution/convolution.h"

static inline ons_status *resolve_conv(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_FORWARD, .bias = ons_has_input(o, 2)};
    return ons_convolution_resolve(o, &o->inputs[0], &o->inputs[1], c);
}

#endif
