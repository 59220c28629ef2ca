/* Sub: a - b. */
#include "kernels/common/elementwise/binary.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ONS_BINARY_NUMBER_REFERENCE(sub, a - b, ons_wrapping_subtract(a, b))

static ons_status *sub_gradient(ons_gradient *g) {
    if (g->wanted[0]) g->gradients[0] = g->cotangents[0];
    if (g->wanted[1]) g->gradients[1] = ons_make1(g, &ons_op_neg, g->cotangents[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(sub, "Sub", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(sub_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(sub_reference));
