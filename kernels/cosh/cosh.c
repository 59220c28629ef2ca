/* Cosh: (eˣ + e⁻ˣ) / 2. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(cosh, cosh(x))

static ons_status *cosh_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make1(g, &ons_op_sinh, ons_gradient_input(g, 0)));
    return NULL;
}

ONS_DEFINE_UNARY(cosh, "Cosh", ONS_ONNX(9, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(cosh_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(cosh_reference));
