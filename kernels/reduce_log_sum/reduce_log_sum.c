/* ReduceLogSum: log Σ x. */
#include <math.h>

#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_log_sum, 0, a + x, log(a), 0, ons_wrapping_add(a, x), (int64_t)log((double)a))

static ons_status *reduce_log_sum_gradient(ons_gradient *g) {
    /* d log s = ds / s, and s = e^y */
    ons_value_id sum = ons_make1(g, &ons_op_exp, ons_gradient_output(g, 0));
    g->gradients[0] = ons_reduction_spread(g, ons_make2(g, &ons_op_div, g->cotangents[0], sum));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_log_sum, "ReduceLogSum", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_log_sum_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_log_sum_reference));
