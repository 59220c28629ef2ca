/* Abs: |x|. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_NUMBER_REFERENCE(abs, fabs(x), x < 0 ? ons_wrapping_subtract(0, x) : x, x)

static ons_status *abs_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_make1(g, &ons_op_sign, ons_gradient_input(g, 0)));
    return NULL;
}

ONS_DEFINE_UNARY(abs, "Abs", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_number_unary),
                 ONS_GRADIENT_RULE(abs_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ELEMENTWISE_OPERATOR, ONS_ONE_FORM, ONS_REFERENCE(abs_reference));
