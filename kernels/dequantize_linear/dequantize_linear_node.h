/* Numbers of DequantizeLinear's inputs and attributes, and the scale that each element has. For C: the .cu file
 * includes dequantize_linear.h. */
#ifndef ONSTAGE_KERNELS_DEQUANTIZE_LINEAR_DEQUANTIZE_LINEAR_NODE_H
#define ONSTAGE_KERNELS_DEQUANTIZE_LINEAR_DEQUANTIZE_LINEAR_NODE_H

#include "kernels/common/operator/kernel.h"
#include "kernels/dequantize_linear/dequantize_linear.h"

enum { X, SCALE, ZERO };

enum { AXIS, BLOCK, OUTPUT_DTYPE };

static inline ons_status *find_scales(const ons_operands *o, ons_scales *s) {
    return ons_scales_resolve(o, &o->inputs[X], SCALE, ZERO, ons_attribute_int(o, AXIS), ons_attribute_int(o, BLOCK),
                              s);
}

ons_status *ons_dequantize_linear_make_state(ons_prepare *p);

ons_status *ons_dequantize_linear_prepare(ons_prepare *p);

#endif
