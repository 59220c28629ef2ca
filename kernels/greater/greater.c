/* Greater: a > b. */
#include "kernels/common/elementwise/binary.h"

ONS_COMPARISON_REFERENCE(greater, a > b)

ONS_DEFINE_OPERATOR(greater, "Greater", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_compare_numbers), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the result is bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS, ONS_REFERENCE(greater_reference));
