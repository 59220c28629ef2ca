/* Sum: of all operands, from the first to the last. */
#include "kernels/common/elementwise/variadic.h"

ONS_VARIADIC_NUMBER_REFERENCE(sum, a + b, ons_wrapping_add(a, b), a)

static ons_status *sum_gradient(ons_gradient *g) {
    for (uint32_t i = 0; i < g->operands->input_count; ++i) g->gradients[i] = g->cotangents[0];
    return NULL;
}

ONS_DEFINE_OPERATOR(sum, "Sum", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_variadic),
                    ONS_GRADIENT_RULE(sum_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_SUM, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(sum_reference));
