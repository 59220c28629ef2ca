/* Products of quantised tensors: integers less their zero points, an exact sum, and its way back to integers. Inputs
 * come in threes (tensor, scale, zero point); those of the result are two. */
#ifndef ONSTAGE_KERNELS_QUANTIZATION_QLINEAR_H
#define ONSTAGE_KERNELS_QUANTIZATION_QLINEAR_H

#include "kernels/quantization/quantization.h"

enum { ONS_Q_A, ONS_Q_A_SCALE, ONS_Q_A_ZERO, ONS_Q_B, ONS_Q_B_SCALE, ONS_Q_B_ZERO, ONS_Q_Y_SCALE, ONS_Q_Y_ZERO };

#define ONS_NOT_TRAINABLE_QUANTIZED ONS_NOT_DIFFERENTIABLE("it computes in integers: rounding has no useful derivative")

/* Checks element types and zero points; `rows` and `columns`: sizes of an axis of a and b that may have scales of its
 * own. */
ons_status *ons_qlinear_check(const ons_operands *o, int64_t rows, int64_t columns);

/* x less its zero points, in double, which holds these integers exactly. NULL where memory is short; free it.
 * `inner`: elements of one entry of the axis that has scales, `length` entries. */
double *ons_qlinear_lift(const ons_operands *o, uint32_t input, const void *const *inputs, int64_t inner,
                         int64_t length);

/* A sum of products to the result's integer. `a` and `b` choose among the scales. */
int64_t ons_qlinear_finish(const ons_operands *o, const void *const *inputs, double sum, int64_t a, int64_t b);

#endif
