/* BitwiseXor: the bits that differ. */
#include "kernels/common/elementwise/binary.h"

ONS_BITWISE_REFERENCE(bitwise_xor, a ^ b)

ONS_DEFINE_BINARY(bitwise_xor, "BitwiseXor", ONS_ONNX(18, ONS_NEWEST), ONS_NO_ATTRIBUTES,
                  ONS_INFER(ons_infer_broadcast_integers), ONS_NOT_DIFFERENTIABLE("the operands are integers"),
                  ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_COMMUTATIVE, 0),
                  ONS_ONE_FORM, ONS_REFERENCE(bitwise_xor_reference));
