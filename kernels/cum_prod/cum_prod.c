/* CumProd: running products along an axis, with or without the element itself, from either end. */
#include "kernels/common/math/integers.h"
#include "kernels/cumulative/cumulative.h"
#include "kernels/operators.h"

static void cum_prod_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    ons_cumulative s = {0};
    ons_resolved(ons_cumulative_of(o, &s));
    bool is_float = ons_dtype_is_float(o->inputs[0].dtype);
    for (int64_t row = 0; row < s.outer * s.inner; ++row) {
        double real = 1;
        int64_t whole = 1;
        for (int64_t i = 0; i < s.length; ++i) {
            int64_t at = ons_cumulative_place(&s, row / s.inner, row % s.inner, i), whole_before = whole;
            double before = real;
            if (is_float) {
                real *= ((const double *)inputs[0])[at];
                ((double *)outputs[0])[at] = s.exclusive ? before : real;
            } else {
                whole = ons_wrapping_multiply(whole, ((const int64_t *)inputs[0])[at]);
                ((int64_t *)outputs[0])[at] = ons_wrap_to(o->inputs[0].dtype, s.exclusive ? whole_before : whole);
            }
        }
    }
}

static ons_status *cum_prod_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_cum_prod_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(cum_prod, "CumProd", ONS_ONNX(26, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_CUMULATIVE_ATTRIBUTES,
                    ONS_INFER(ons_cumulative_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(cum_prod_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(cum_prod_reference));
