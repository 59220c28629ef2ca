/* Atan: the angle in (-π/2, π/2) with this tangent. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(atan, atan(x))

static ons_status *atan_gradient(ons_gradient *g) {
    ons_value_id value = ons_gradient_input(g, 0), square = ons_make2(g, &ons_op_mul, value, value);
    g->gradients[0] =
        ons_make2(g, &ons_op_div, g->cotangents[0], ons_make2(g, &ons_op_add, square, ons_make_scalar(g, 1)));
    return NULL;
}

ONS_DEFINE_UNARY(atan, "Atan", ONS_ONNX(7, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(atan_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(atan_reference));
