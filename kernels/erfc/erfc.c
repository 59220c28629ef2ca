/* Erfc: 1 - erf, the complement. ONNX does not have it: TensorFlow does, for its Gelu, and tf2onnx hands it on. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(erfc, erfc(x))

static ons_status *erfc_gradient(ons_gradient *g) {
    /* -2 / √π · e^(-x²) */
    ons_value_id square = ons_make2(g, &ons_op_mul, ons_gradient_input(g, 0), ons_gradient_input(g, 0));
    ons_value_id bell = ons_make1(g, &ons_op_exp, ons_make1(g, &ons_op_neg, square));
    ons_value_id slope = ons_make2(g, &ons_op_mul, bell, ons_make_scalar(g, -1.1283791670955126));
    g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], slope);
    return NULL;
}

ONS_DEFINE_UNARY(erfc, "Erfc", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(erfc_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(erfc_reference));
