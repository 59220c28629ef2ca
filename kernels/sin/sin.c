/* Sin: of an angle in radians. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_REFERENCE(sin, double, double, sin(x))

static ons_status *sin_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make1(g, &ons_op_cos, ons_gradient_input(g, 0)));
    return NULL;
}

ONS_DEFINE_UNARY(sin, "Sin", ONS_ONNX(7, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(sin_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(sin_reference));
