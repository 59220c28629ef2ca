/* Add: a + b. */
#include "kernels/common/elementwise/binary.h"

ONS_BINARY_NUMBER_REFERENCE(add, a + b, ons_wrapping_add(a, b))

static ons_status *add_gradient(ons_gradient *g) {
    g->gradients[0] = g->gradients[1] = g->cotangents[0];
    return NULL;
}

ONS_DEFINE_BINARY(add, "Add", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_numbers),
                  ONS_GRADIENT_RULE(add_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                  ONS_ROLES(ONS_ROLE_ADD, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0), ONS_BROADCAST_FORMS,
                  ONS_REFERENCE(add_reference));
