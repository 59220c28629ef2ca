/* Neg: -x. */
#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_NUMBER_REFERENCE(neg, -x, ons_wrapping_subtract(0, x), 0 - x)

static ons_status *neg_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make1(g, &ons_op_neg, g->cotangents[0]);
    return NULL;
}

ONS_DEFINE_UNARY(neg, "Neg", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_number_unary),
                 ONS_GRADIENT_RULE(neg_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                 ONS_ONE_FORM, ONS_REFERENCE(neg_reference));
