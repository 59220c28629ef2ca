/* Acosh: the number ≥ 0 whose hyperbolic cosine is x. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(acosh, acosh(x))

static ons_status *acosh_gradient(ons_gradient *g) {
    ons_value_id below = ons_make2(g, &ons_op_sub, ons_gradient_input(g, 0), ons_make_scalar(g, 1));
    ons_value_id product =
        ons_make2(g, &ons_op_mul, below, ons_make2(g, &ons_op_add, ons_gradient_input(g, 0), ons_make_scalar(g, 1)));
    g->gradients[0] = ons_make2(g, &ons_op_div, g->cotangents[0], ons_make1(g, &ons_op_sqrt, product));
    return NULL;
}

ONS_DEFINE_UNARY(acosh, "Acosh", ONS_ONNX(9, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(acosh_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(acosh_reference));
