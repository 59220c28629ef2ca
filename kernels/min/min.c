/* Min: the smallest of all operands; NaN where one of them is NaN. */
#include "kernels/common/elementwise/clamped.h"
#include "kernels/common/elementwise/variadic.h"

ONS_CHOICE_REFERENCE(min, a < b || a != a ? a : b, a < b ? a : b)

ONS_DEFINE_OPERATOR(min, "Min", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_numbers), ONS_COST(ons_cost_variadic),
                    ONS_GRADIENT_RULE(ons_gradient_of_chosen, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_ALL_INPUTS, ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT,
                    ONS_FORMS(ons_upgrade_min_of_clamp, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(min_reference));
