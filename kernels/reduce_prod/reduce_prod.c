/* ReduceProd: the product of all elements. */
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_prod, 1, a *x, a, 1, ons_wrapping_multiply(a, x), a)

static ons_status *reduce_prod_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make_like(g, &ons_op_reduce_prod_gradient,
                                    ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]));
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_prod, "ReduceProd", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(reduce_prod_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS,
                    ONS_REFERENCE(reduce_prod_reference));
