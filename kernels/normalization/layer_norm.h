/* What LayerNormalization and its gradient share: rows × columns, where the columns are the axis and all after it. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_LAYER_NORM_H
#define ONSTAGE_KERNELS_NORMALIZATION_LAYER_NORM_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_layer_norm {
    int64_t rows, columns;
    uint32_t axis;
} ons_layer_norm;

/* `type` normalised from `axis` on; scale (and, unless ONS_NO_DTYPE, bias) must have that part's shape, with or without
 * ones in front, and its type; both may be float32 beside a half type. Fails with the node's name. */
ons_status *ons_layer_norm_of(const ons_operands *o, const ons_type *type, int64_t axis, const ons_type *scale,
                              const ons_type *bias, ons_layer_norm *norm);

/* Whether `type` holds one number for each column. */
bool ons_layer_norm_fits(const ons_shape *shape, uint32_t axis, const ons_type *type);

/* ---- for gradients, whose input 1 is x. From input `extra` on they may have two more of its type: what is added to
 * the gradient of x, as it comes along the residual stream, and the second summand of the cotangent. */
ons_status *ons_norm_gradient_check(const ons_operands *o, uint32_t extra);

/* How many inputs a node has. */
static inline uint32_t ons_norm_gradient_inputs(const ons_value_id *inputs, uint32_t extra) {
    return inputs[extra + 1] != ONS_NONE ? extra + 2 : inputs[extra] != ONS_NONE ? extra + 1 : extra;
}

/* For the cost: additions for each element. */
static inline int ons_norm_gradient_sums(const ons_operands *o, uint32_t extra) {
    return (ons_has_input(o, extra) ? 1 : 0) + (ons_has_input(o, extra + 1) ? 1 : 0);
}

/* For references: element `at` of an input, 0 where it is left out. */
static inline double ons_norm_summand(const ons_operands *o, uint32_t input, const void *const *inputs, int64_t at) {
    return ons_has_input(o, input) ? ((const double *)inputs[input])[at] : 0;
}

/* ---- for patterns */

/* The axis from which on `mean` is reduced, with its dims kept; false where it is not a reduction of the last axes. The
 * shapes tell: an axis of size 1 is the same reduced or not. */
bool ons_layer_norm_reduced(const ons_shape *x, const ons_shape *mean, uint32_t *axis);

/* The scale of a norm that has none. */
ons_value_id ons_layer_norm_ones(ons_builder *builder, const ons_type *x, uint32_t axis);

#endif
