/* ReduceL1: Σ |x|. */
#include <math.h>

#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_l1, 0, a + fabs(x), a, 0, ons_wrapping_add(a, x < 0 ? ons_wrapping_subtract(0, x) : x),
                        a)

static ons_status *reduce_l1_gradient(ons_gradient *g) {
    ons_value_id sign = ons_make1(g, &ons_op_sign, ons_gradient_input(g, 0));
    g->gradients[0] = ons_make2(g, &ons_op_mul, sign, ons_reduction_keep(g, g->cotangents[0]));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_l1, "ReduceL1", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_l1_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_l1_reference));
