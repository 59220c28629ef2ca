/* A fully connected layer: inputs x (rank 2 or more), w (a matrix), b (a vector); attribute 0: whether w lies as
 * (outputs, inputs). Linear, and Linear with what comes behind it. */
#ifndef ONSTAGE_KERNELS_LINEAR_FULLY_CONNECTED_H
#define ONSTAGE_KERNELS_LINEAR_FULLY_CONNECTED_H

#include "kernels/common/gemm/gemm.h"

ons_gemm_form ons_linear_form(const ons_operands *o);
/* The product's shape; refuses operands that are no layer's. `bias`: input 2 is one. */
ons_status *ons_linear_shape(const ons_operands *o, bool bias, ons_shape *result);
ons_status *ons_linear_infer(ons_operands *o);   /* every output has the product's type */
ons_cost ons_linear_cost(const ons_operands *o); /* of product and bias */
/* x op(w) + b. */
void ons_linear_reference(const ons_operands *o, const void *const *inputs, double *y);
/* The gradients of x, w and b from that of x op(w) + b. */
ons_status *ons_linear_gradient(ons_gradient *g, ons_value_id cotangent);

#endif
