/* Shorthand for gradient rules: one call a node. */
#ifndef ONSTAGE_KERNELS_COMMON_OPERATOR_RULES_H
#define ONSTAGE_KERNELS_COMMON_OPERATOR_RULES_H

#include "kernels/common/operator/kernel.h"

static inline ons_value_id ons_make1(ons_gradient *g, const ons_operator *op, ons_value_id x) {
    return ons_build(g->builder, op, ONS_IN(x), ONS_DEFAULTS);
}
static inline ons_value_id ons_make2(ons_gradient *g, const ons_operator *op, ons_value_id a, ons_value_id b) {
    return ons_build(g->builder, op, ONS_IN(a, b), ONS_DEFAULTS);
}
static inline ons_value_id ons_make3(ons_gradient *g, const ons_operator *op, ons_value_id a, ons_value_id b,
                                     ons_value_id c) {
    return ons_build(g->builder, op, ONS_IN(a, b, c), ONS_DEFAULTS);
}
/* A node of `op` that has the forward node's attributes, which both operators declare alike. */
static inline ons_value_id ons_make_like(ons_gradient *g, const ons_operator *op, ons_inputs inputs) {
    ons_value_id result = ONS_NONE;
    ons_build_node_like(g->builder, op, inputs, g->operands->attributes, 1, NULL, &result);
    return result;
}
/* A scalar of the output's dtype. */
static inline ons_value_id ons_make_scalar(ons_gradient *g, double value) {
    return ons_build_scalar(g->builder, g->operands->outputs[0].dtype, value);
}

/* SYMBOL_gradient, of an elementwise operator: a node of the operator SYMBOL_gradient with the same attributes, of the
 * cotangent and the operand. */
#define ONS_GRADIENT_BY_INPUT(SYMBOL) ONS_GRADIENT_BY(SYMBOL, ons_gradient_input(g, 0))
/* SYMBOL_gradient, as ONS_GRADIENT_BY_INPUT makes it, but of the cotangent and the result. */
#define ONS_GRADIENT_BY_OUTPUT(SYMBOL) ONS_GRADIENT_BY(SYMBOL, ons_gradient_output(g, 0))
#define ONS_GRADIENT_BY(SYMBOL, VALUE)                                                                                 \
    static ons_status *SYMBOL##_gradient(ons_gradient *g) {                                                            \
        g->gradients[0] = ons_make_like(g, &ons_op_##SYMBOL##_gradient, ONS_IN(g->cotangents[0], VALUE));              \
        return NULL;                                                                                                   \
    }

#endif
