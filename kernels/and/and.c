/* And: of two truth values. */
#include "kernels/common/elementwise/binary.h"

ONS_LOGIC_REFERENCE(and, (a & b) != 0)

ONS_DEFINE_OPERATOR(and, "And", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(ons_infer_broadcast_bools), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("the operands are bool"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_BROADCAST_FORMS,
                    ONS_REFERENCE(and_reference));
