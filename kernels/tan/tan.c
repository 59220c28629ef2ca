/* Tan: of an angle in radians. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_REFERENCE(tan, double, double, tan(x))

static ons_status *tan_gradient(ons_gradient *g) {
    ons_value_id value = ons_gradient_output(g, 0), square = ons_make2(g, &ons_op_mul, value, value);
    g->gradients[0] =
        ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make2(g, &ons_op_add, square, ons_make_scalar(g, 1)));
    return NULL;
}

ONS_DEFINE_UNARY(tan, "Tan", ONS_ONNX(7, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(tan_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(0)),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(tan_reference));
