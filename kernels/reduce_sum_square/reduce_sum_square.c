/* ReduceSumSquare: Σ x². */
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_sum_square, 0, a + x * x, a, 0, ons_wrapping_add(a, ons_wrapping_multiply(x, x)), a)

static ons_status *reduce_sum_square_gradient(ons_gradient *g) {
    ons_value_id twice = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make_scalar(g, 2));
    g->gradients[0] = ons_make2(g, &ons_op_mul, ons_gradient_input(g, 0), ons_reduction_keep(g, twice));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_sum_square, "ReduceSumSquare", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_sum_square_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_sum_square_reference));
