/* Sqrt: the square root. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(sqrt, sqrt(x))

static ons_status *sqrt_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_div, ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make_scalar(g, 0.5)),
                                ons_gradient_output(g, 0));
    return NULL;
}

ONS_DEFINE_UNARY(sqrt, "Sqrt", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(sqrt_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                 ONS_ROLES(ONS_ROLE_SQUARE_ROOT, ONS_TRAIT_ELEMENTWISE, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(sqrt_reference));
