/* Where: the second operand where the first is true, else the third. */
#include <string.h>

#include "kernels/common/elementwise/broadcast.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

static ons_status *where_infer(ons_operands *o) {
    ONS_TRY(ons_need_bool(o, 0));
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (o->inputs[1].dtype != o->inputs[2].dtype || ons_dtype_size(o->inputs[1].dtype) == 0)
        return ons_node_error(o, "cannot choose between %s and %s", ons_type_print(&o->inputs[1], left),
                              ons_type_print(&o->inputs[2], right));
    ons_shape shape;
    if (!ons_shape_broadcast(&o->inputs[1].shape, &o->inputs[2].shape, &shape) ||
        !ons_shape_broadcast(&shape, &o->inputs[0].shape, &shape))
        return ons_node_error(o, "the shapes of condition, %s and %s do not broadcast",
                              ons_type_print(&o->inputs[1], left), ons_type_print(&o->inputs[2], right));
    o->outputs[0] = ons_type_make(o->inputs[1].dtype, shape);
    return NULL;
}

static void where_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    const ons_shape *shape = &o->outputs[0].shape;
    const int64_t *condition = inputs[0];
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {
        uint32_t chosen = condition[ons_broadcast_index(shape, &o->inputs[0].shape, i)] != 0 ? 1 : 2;
        int64_t from = ons_broadcast_index(shape, &o->inputs[chosen].shape, i);
        memcpy((char *)outputs[0] + i * 8, (const char *)inputs[chosen] + from * 8, 8);
    }
}

static ons_status *where_gradient(ons_gradient *g) {
    ons_value_id condition = ons_gradient_input(g, 0), zero = ons_make_scalar(g, 0);
    if (g->wanted[1]) g->gradients[1] = ons_make3(g, &ons_op_where, condition, g->cotangents[0], zero);
    if (g->wanted[2]) g->gradients[2] = ons_make3(g, &ons_op_where, condition, zero, g->cotangents[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(where, "Where", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(where_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(where_gradient, ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ROLES(ONS_ROLE_SELECT, ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 1}, {ONS_ALIAS_MAY, 0, 2}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(where_reference));
