/* CumSum: running sums along an axis, with or without the element itself, from either end. */
#include "kernels/common/math/integers.h"
#include "kernels/cumulative/cumulative.h"
#include "kernels/operators.h"

static void cum_sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    ons_cumulative s = {0};
    ons_resolved(ons_cumulative_of(o, &s));
    bool is_float = ons_dtype_is_float(o->inputs[0].dtype);
    for (int64_t row = 0; row < s.outer * s.inner; ++row) {
        double sum = 0;
        int64_t whole = 0;
        for (int64_t i = 0; i < s.length; ++i) {
            int64_t at = ons_cumulative_place(&s, row / s.inner, row % s.inner, i);
            double before = sum;
            int64_t whole_before = whole;
            if (is_float) {
                sum += ((const double *)inputs[0])[at];
                ((double *)outputs[0])[at] = s.exclusive ? before : sum;
            } else {
                whole = ons_wrapping_add(whole, ((const int64_t *)inputs[0])[at]);
                ((int64_t *)outputs[0])[at] = s.exclusive ? whole_before : whole;
            }
        }
    }
}

static ons_status *cum_sum_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(
        g->builder, &ons_op_cum_sum, ONS_IN(g->cotangents[0], ons_gradient_input(g, 1)),
        ONS_WITH(ONS_AT_INT(ONS_CUMULATIVE_EXCLUSIVE, ons_attribute_int(g->operands, ONS_CUMULATIVE_EXCLUSIVE)),
                 ONS_AT_INT(ONS_CUMULATIVE_REVERSE, ons_attribute_int(g->operands, ONS_CUMULATIVE_REVERSE) == 0)));
    return NULL;
}

ONS_DEFINE_OPERATOR(cum_sum, "CumSum", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_CUMULATIVE_ATTRIBUTES,
                    ONS_INFER(ons_cumulative_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(cum_sum_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(cum_sum_reference));
