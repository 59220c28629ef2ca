/* CastLike: to the element type of another value, of which nothing else is read. */
#include "graph/passes/replacement.h"
#include "kernels/cast/conversion.h"
#include "kernels/common/operator/expand.h"
#include "kernels/operators.h"

static ons_status *cast_like_infer(ons_operands *o) { return ons_cast_infer(o, o->inputs[1].dtype); }

static ons_status *cast_like_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    ONS_TRY(ons_cast_decompose(m));
    if (m->replaced) return NULL;
    return ons_replace_by(m, &ons_op_cast, ONS_IN(m->inputs[0]),
                          ONS_WITH(ONS_AT_INT(0, o->outputs[0].dtype), {1, o->attributes[0]}, {2, o->attributes[1]}));
}

const ons_operator ons_op_cast_like = {
    "CastLike",
    ONS_ONNX(15, ONS_NEWEST),
    ONS_ARITY(2, 2, 1, 1),
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("saturate", 1), ONS_STRING_ATTRIBUTE("round_mode", "up")),
    cast_like_infer,
    ons_cost_elementwise,
    ONS_EXPANSION_GRADIENT(ONS_INPUT_BIT(0)),
    ONS_SAVES_NOTHING,
    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_EXPANDS | ONS_TRAIT_MOVES, 0),
    ONS_NO_ALIASES,
    ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL, ONS_NO_PATTERNS, cast_like_expand),
    ons_cast_reference,
};
