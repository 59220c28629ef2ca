/* ReduceSum: Σ x. */
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_sum, 0, a + x, a, 0, ons_wrapping_add(a, x), a)

static ons_status *reduce_sum_gradient(ons_gradient *g) {
    g->gradients[0] = ons_reduction_spread(g, g->cotangents[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_sum, "ReduceSum", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_sum_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_REDUCE_SUM, 0, 0), ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose),
                    ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_sum_reference));
