/* CastLike: to the element type of another value. */
#include "kernels/common/cast.h"

static ons_status *cast_like_infer(ons_operands *o) { return ons_cast_infer(o, o->inputs[1].dtype); }

static ons_cost cast_like_cost(const ons_operands *o) {
    double n = (double)ons_elements(&o->inputs[0]);
    return (ons_cost){n, n * (double)(ons_dtype_size(o->inputs[0].dtype) + ons_dtype_size(o->outputs[0].dtype))};
}

ONS_DEFINE_OPERATOR(cast_like, "CastLike", ONS_ONNX(15, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("saturate", 1), ONS_STRING_ATTRIBUTE("round_mode", "up")),
                    ONS_INFER(cast_like_infer), ONS_COST(cast_like_cost),
                    ONS_GRADIENT_RULE(ons_cast_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, ONS_NO_PATTERNS, ons_cast_mode),
                    ONS_REFERENCE(ons_cast_reference));
