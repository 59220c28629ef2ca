/* Mul: a · b. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_NUMBER_REFERENCE(mul, a *b, ons_wrapping_multiply(a, b))

static ons_status *mul_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_input(g, 1));
    if (g->wanted[1]) g->gradients[1] = ons_make2(g, &ons_op_mul, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

ONS_DEFINE_BINARY(mul, "Mul", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_numbers),
                  ONS_GRADIENT_RULE(mul_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0),
                  ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0), ONS_BROADCAST_FORMS,
                  ONS_REFERENCE(mul_reference));
