/* Linear with Gelu behind it, by the formula with tanh, as libraries for GPUs compute both in one go. A pass makes it
 * for those (graph/passes/fuse_gemm.h). Output 1 is what goes into Gelu, which its gradient reads.
 *
 * `keeps`: output 1 is part of the computation also where it is left out, as it is where the node runs again for its
 * result alone: the same way, so the same bits. */
#include "kernels/gelu/gelu_formulas.h"
#include "kernels/linear/fully_connected.h"
#include "kernels/operators.h"

static ons_cost linear_gelu_cost(const ons_operands *o) {
    ons_cost cost = ons_linear_cost(o);
    return (ons_cost){cost.flops + (double)ons_elements(&o->outputs[0]), cost.bytes};
}

static void linear_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    double *y = outputs[0], *kept = o->output_count > 1 ? outputs[1] : NULL;
    ons_linear_reference(o, inputs, y);
    for (int64_t i = 0, count = ons_elements(&o->outputs[0]); i < count; ++i) {
        if (kept != NULL) kept[i] = y[i];
        y[i] = ons_gelu_tanh(y[i]);
    }
}

static ons_status *linear_gelu_gradient_rule(ons_gradient *g) {
    ons_value_id sum = g->cotangents[1];
    if (g->cotangents[0] != ONS_NONE) {
        ons_value_id through =
            ons_build(g->builder, &ons_op_gelu_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
                      ONS_WITH(ONS_AT_STRING(0, "tanh")));
        sum = sum == ONS_NONE ? through : ons_build(g->builder, &ons_op_add, ONS_IN(through, sum), ONS_DEFAULTS);
    }
    return ons_linear_gradient(g, sum);
}

ONS_DEFINE_OPERATOR(linear_gelu, "LinearGelu", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("transpose", 0), ONS_INT_ATTRIBUTE("keeps", 0)),
                    ONS_INFER(ons_linear_infer), ONS_COST(linear_gelu_cost),
                    ONS_GRADIENT_RULE(linear_gelu_gradient_rule, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 2), ONS_DENSE_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(linear_gelu_reference));
