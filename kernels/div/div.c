/* Div: a / b; integers are truncated towards zero. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_ORDERED_REFERENCE(div, a / b, ons_wrapping_divide(a, b), b == 0 ? 0 : a / b)

static ons_status *div_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = ons_make2(g, &ons_op_div, g->cotangents[0], ons_gradient_input(g, 1));
    if (g->wanted[1])
        g->gradients[1] =
            ons_make1(g, &ons_op_neg,
                      ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_output(g, 0)),
                                ons_gradient_input(g, 1)));
    return NULL;
}

ONS_DEFINE_BINARY(div, "Div", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_numbers),
                  ONS_GRADIENT_RULE(div_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                  ONS_ELEMENTWISE_OPERATOR, ONS_BROADCAST_FORMS, ONS_REFERENCE(div_reference));
