/* Trilu: the upper or lower triangle of each matrix, zeros elsewhere; input 1 moves the diagonal. */
#include "kernels/trilu/trilu_node.h"

#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

static ons_status *trilu_infer(ons_operands *o) {
    if (o->inputs[0].shape.rank < 2) return ons_node_error(o, "needs matrices, not rank %u", o->inputs[0].shape.rank);
    if (ons_has_input(o, 1) && (o->inputs[1].dtype != ONS_INT64 || ons_elements(&o->inputs[1]) != 1))
        return ons_node_error(o, "the diagonal must be one int64");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void trilu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    const ons_shape *shape = &o->outputs[0].shape;
    int64_t diagonal = inputs[1] == NULL ? 0 : *(const int64_t *)inputs[1], index[ONS_RANK_MAX], zero = 0;
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        ons_unravel(shape, i, index);
        int64_t distance = index[shape->rank - 1] - index[shape->rank - 2];
        bool stays = ons_attribute_int(o, UPPER) != 0 ? distance >= diagonal : distance <= diagonal;
        ons_copy_word(outputs[0], i, stays ? inputs[0] : &zero, stays ? i : 0);
    }
}

static ons_status *trilu_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_trilu, ONS_IN(g->cotangents[0], ons_gradient_input(g, 1)),
                                ONS_WITH(ONS_AT_INT(UPPER, ons_attribute_int(g->operands, UPPER))));
    return NULL;
}

ONS_DEFINE_OPERATOR(trilu, "Trilu", ONS_ONNX(14, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("upper", 1)), ONS_INFER(trilu_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(trilu_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(1), 0),
                    ONS_ANY_PRECISION_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(trilu_reference));
