/* ReduceL2: the square root of Σ x². */
#include <math.h>

#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_l2, 0, a + x * x, sqrt(a), 0, ons_wrapping_add(a, ons_wrapping_multiply(x, x)),
                        (int64_t)sqrt((double)a))

static ons_status *reduce_l2_gradient(ons_gradient *g) {
    double least = g->operands->outputs[0].dtype == ONS_FLOAT16 ? 6e-8 : 1e-30;
    ons_value_id norm = ons_make2(g, &ons_op_max, ons_gradient_output(g, 0), ons_make_scalar(g, least));
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], norm);
    g->gradients[0] = ons_make2(g, &ons_op_mul, ons_gradient_input(g, 0), ons_reduction_keep(g, share));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_l2, "ReduceL2", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_l2_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_l2_reference));
