/* Shorthand for operators that are replaced by nodes of others (ONS_TRAIT_EXPANDS): one call a node. A failure stays in
 * the builder, as in gradient rules. */
#ifndef ONSTAGE_KERNELS_COMMON_OPERATOR_EXPAND_H
#define ONSTAGE_KERNELS_COMMON_OPERATOR_EXPAND_H

#include "graph/passes/replacement.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

#define ONS_MICROSOFT ONS_IN_DOMAIN("com.microsoft", 1, 1)

static inline ons_value_id ons_expand1(ons_replacement *m, const ons_operator *op, ons_value_id x) {
    return ons_build(m->builder, op, ONS_IN(x), ONS_DEFAULTS);
}
static inline ons_value_id ons_expand2(ons_replacement *m, const ons_operator *op, ons_value_id a, ons_value_id b) {
    return ons_build(m->builder, op, ONS_IN(a, b), ONS_DEFAULTS);
}

/* What an expansion that is defined by all its fields says of its gradient (see ONS_DEFINE_EXPANSION). */
#define ONS_EXPANSION_GRADIENT(INPUTS)                                                                                 \
    { .why_not = "binding replaces it by nodes that are", .differentiable = (INPUTS) }

/* An input; ONS_NONE where it is left out. */
static inline ons_value_id ons_expand_input(const ons_replacement *m, uint32_t index) {
    return ons_has_input(m->operands, index) ? m->inputs[index] : (ons_value_id)ONS_NONE;
}

/* a + b, where either may be left out. */
static inline ons_value_id ons_expand_sum(ons_replacement *m, ons_value_id a, ons_value_id b) {
    return a == ONS_NONE ? b : b == ONS_NONE ? a : ons_expand2(m, &ons_op_add, a, b);
}

/* x by a number of x's type; x itself where the number is 1. */
ons_value_id ons_expand_scale(ons_replacement *m, ons_value_id x, double factor);
ons_value_id ons_expand_scalar_like(ons_replacement *m, ons_value_id x, double value);

ons_value_id ons_expand_reshape(ons_replacement *m, ons_value_id x, uint32_t rank, const int64_t *dims);
ons_value_id ons_expand_transpose(ons_replacement *m, ons_value_id x, uint32_t rank, const int64_t *order);
ons_value_id ons_expand_concat(ons_replacement *m, ons_value_id a, ons_value_id b, int64_t axis);
ons_value_id ons_expand_cast(ons_replacement *m, ons_value_id x, ons_dtype dtype);
/* Entries [begin, end) of an axis. */
ons_value_id ons_expand_slice(ons_replacement *m, ons_value_id x, int64_t axis, int64_t begin, int64_t end);
/* The int64 vector begin, begin + 1, … of `count` elements, of the given shape. */
ons_value_id ons_expand_range(ons_replacement *m, int64_t begin, int64_t count, uint32_t rank, const int64_t *dims);

/* The nodes that stand for another operator of this kind, with `count` outputs. */
ons_status *ons_expand_other(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                             uint32_t count, ons_value_id *outputs);

/* The end of every expansion: its result as output 0. */
ons_status *ons_expand_finish(ons_replacement *m, ons_value_id result);

#endif
