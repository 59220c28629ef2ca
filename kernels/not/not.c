/* Not: of a truth value. */
#include "kernels/common/elementwise/unary.h"

ONS_UNARY_REFERENCE(not, int64_t, int64_t, x == 0)

static ons_status *not_infer(ons_operands *o) {
    ONS_TRY(ons_need_bool(o, 0));
    return ons_infer_like_first(o);
}

ONS_DEFINE_UNARY(not, "Not", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(not_infer),
                 ONS_NOT_DIFFERENTIABLE("the operand is bool"), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                 ONS_ONE_FORM, ONS_REFERENCE(not_reference));
