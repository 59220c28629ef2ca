/* Expand: the input broadcast with the shape of input 1. */
#include "kernels/expand/expand.h"

#include "kernels/common/operator/kernel.h"

static ons_status *expand_infer(ons_operands *o) {
    int64_t dims[ONS_INTEGERS_MAX];
    uint32_t rank;
    ONS_TRY(ons_constant_integers(o, 1, dims, &rank));
    if (rank > ONS_RANK_MAX)
        return ons_node_error(o, "the shape has rank %u, at most %d is possible", rank, ONS_RANK_MAX);
    ons_shape wanted = ons_shape_make(rank, dims);
    ONS_TRY_AT(ons_shape_check(&wanted), "node '%s' (Expand)", o->name);
    o->outputs[0].dtype = o->inputs[0].dtype;
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_type target = ons_type_make(o->inputs[0].dtype, wanted);
    if (!ons_shape_broadcast(&o->inputs[0].shape, &wanted, &o->outputs[0].shape))
        return ons_node_error(o, "%s does not broadcast to %s", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&target, right));
    return NULL;
}

static void expand_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    int64_t index[ONS_RANK_MAX], strides[ONS_RANK_MAX];
    find_strides(o, strides);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        int64_t source = 0;
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->outputs[0].shape.rank; ++axis) source += index[axis] * strides[axis];
        ons_copy_word(outputs[0], i, inputs[0], source);
    }
}

/* The driver sums it down to the input's shape. */
static ons_status *expand_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    return NULL;
}

ONS_DEFINE_OPERATOR(expand, "Expand", ONS_ONNX(8, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(expand_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(expand_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_EXPAND, ONS_TRAIT_MOVES, 0), ONS_NO_ALIASES, ONS_ASKED_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(expand_reference));
