/* Log: the natural logarithm. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_UNARY_FLOAT_REFERENCE(log, log(x))

static ons_status *log_gradient(ons_gradient *g) {
    g->gradients[0] = ons_make2(g, &ons_op_div, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

ONS_DEFINE_UNARY(log, "Log", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(log_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(log_reference));
