/* ReduceMean: Σ x / n. */
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_mean, 0, a + x, a / count, 0, ons_wrapping_add(a, x),
                        count == 0 ? 0 : a / (int64_t)count)

static ons_status *reduce_mean_gradient(ons_gradient *g) {
    ons_value_id share = ons_make_scalar(g, 1 / (double)ons_reduction_count(g->operands));
    g->gradients[0] = ons_reduction_spread(g, ons_make2(g, &ons_op_mul, g->cotangents[0], share));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_mean, "ReduceMean", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_mean_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_mean_reference));
