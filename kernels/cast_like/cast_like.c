/* CastLike: to the element type of another value, of which nothing else is read. */
#include "graph/passes/replacement.h"
#include "kernels/cast/conversion.h"
#include "kernels/operators.h"

static ons_status *cast_like_infer(ons_operands *o) { return ons_cast_infer(o, o->inputs[1].dtype); }

static ons_status *cast_like_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    ONS_TRY(ons_cast_decompose(m));
    if (m->replaced) return NULL;
    return ons_replace_by(m, &ons_op_cast, ONS_IN(m->inputs[0]),
                          ONS_WITH(ONS_AT_INT(0, o->outputs[0].dtype), {1, o->attributes[0]}, {2, o->attributes[1]}));
}

ONS_DEFINE_EXPANSION(cast_like, "CastLike", ONS_ONNX(15, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("saturate", 1), ONS_STRING_ATTRIBUTE("round_mode", "up")),
                     cast_like_infer, ons_cost_elementwise, ONS_INPUT_BIT(0), cast_like_expand, ons_cast_reference);
