/* Numbers of the inputs of FakeQuantize's gradient, what one element gives, and the operands of a launch. For C: the
 * .cu file includes fake_quantize_gradient.h. */
#ifndef ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_GRADIENT_NODE_H
#define ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_GRADIENT_NODE_H

#include "kernels/fake_quantize/fake_quantize_gradient.h"

enum { DY, X, FROM_SCALE, TO_SCALE, FROM_ZERO, TO_ZERO };

/* What one element gives: of x, of the first scale, of the second. */
typedef struct parts {
    float x, from, to;
} parts;

/* The operands of one launch, and a walk over elements that share scale `k`. */
typedef struct operands {
    const ons_fake *fake;
    const float *dy, *x, *from, *to;
    const void *from_zeros, *to_zeros;
    float *dx;
} operands;

#endif
