/* BitwiseNot: ones for zeros and zeros for ones. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_REFERENCE(bitwise_not, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, ~x))
/* Bits are bits: one function for all integers. */

static ons_status *bitwise_not_infer(ons_operands *o) {
    ONS_TRY(ons_need_integer(o, 0));
    return ons_infer_like_first(o);
}

ONS_DEFINE_UNARY(bitwise_not, "BitwiseNot", ONS_ONNX(18, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(bitwise_not_infer),
                 ONS_NOT_DIFFERENTIABLE("the operand is an integer"), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                 ONS_ONE_FORM, ONS_REFERENCE(bitwise_not_reference));
