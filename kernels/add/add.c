/* Add: a + b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_NUMBER_REFERENCE(add, a + b, ons_wrapping_add(a, b))

static ons_status *add_gradient(ons_gradient *g) {
    g->gradients[0] = g->gradients[1] = g->cotangents[0];
    return NULL;
}

ONS_DEFINE_OPERATOR(add, "Add", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(add_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_ADD, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(add_reference));
