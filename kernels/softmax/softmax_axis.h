/* What Softmax and LogSoftmax and their gradients share: attributes, the older opsets' form, shapes, prepare. */
#ifndef ONSTAGE_KERNELS_SOFTMAX_SOFTMAX_AXIS_H
#define ONSTAGE_KERNELS_SOFTMAX_SOFTMAX_AXIS_H

#include "graph/upgrade.h"
#include "kernels/common/rows/rows.h"

/* Attributes by position. Below opset 13 the axis and all after it are one row ("flatten"), and the default axis is 1.
 */
enum { ONS_SOFTMAX_AXIS, ONS_SOFTMAX_FLATTEN };
#define ONS_SOFTMAX_ATTRIBUTES ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("onstage_flatten", 0))

ons_status *ons_softmax_upgrade(ons_upgrade *u);

/* One operand or, of a gradient, two of the same type: (output, cotangent). */
ons_status *ons_softmax_infer(ons_operands *o);

/* The state is an ons_axis_view. */
ons_status *ons_softmax_prepare(ons_prepare *p);

/* The view of input 0; inference has found it valid. */
ons_axis_view ons_softmax_view(const ons_operands *o);

/* Builds `op`(output, cotangent) with the node's own attributes. */
ons_status *ons_softmax_build_gradient(ons_gradient *g, const ons_operator *op);

#endif
