/* ReduceLogSumExp: log Σ e^x, with the largest element taken out first so that no exponential overflows. */
#include <math.h>

#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

static void reduce_log_sum_exp_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    const double *x = inputs[0];
    double *out = outputs[0];
    bool reduced[ONS_RANK_MAX];
    ons_resolved(ons_reduction_axes(o, reduced));
    int64_t elements = ons_elements(&o->inputs[0]);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < elements; ++k)
            if (ons_reduction_target(o, reduced, k) == i) largest = fmax(largest, x[k]);
        for (int64_t k = 0; k < elements && !isinf(largest); ++k)
            if (ons_reduction_target(o, reduced, k) == i) sum += exp(x[k] - largest);
        out[i] = isinf(largest) ? largest : largest + log(sum);
    }
}

static ons_status *reduce_log_sum_exp_infer(ons_operands *o) {
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs floating-point numbers, not %s", ons_dtype_name(o->inputs[0].dtype));
    return ons_reduction_infer(o);
}

/* dx = dy e^(x - y) */
static ons_status *reduce_log_sum_exp_gradient(ons_gradient *g) {
    ons_value_id result = ons_reduction_keep(g, ons_gradient_output(g, 0));
    ons_value_id share = ons_make1(g, &ons_op_exp, ons_make2(g, &ons_op_sub, ons_gradient_input(g, 0), result));
    g->gradients[0] = ons_make2(g, &ons_op_mul, share, ons_reduction_keep(g, g->cotangents[0]));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_log_sum_exp, "ReduceLogSumExp", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(reduce_log_sum_exp_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_log_sum_exp_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_log_sum_exp_reference));
