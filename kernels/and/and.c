/* And: of two truth values. */
#include "kernels/common/elementwise/binary.h"

ONS_LOGIC_REFERENCE(and, (a & b) != 0)

ONS_DEFINE_BINARY(and, "And", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_broadcast_bools),
                  ONS_NOT_DIFFERENTIABLE("the operands are bool"), ONS_SAVES_NOTHING,
                  ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0), ONS_BROADCAST_FORMS,
                  ONS_REFERENCE(and_reference));
