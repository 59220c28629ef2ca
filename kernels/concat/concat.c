/* Concat: inputs one after the other along an axis. */
#include "kernels/concat/concat.h"

#include "graph/upgrade.h"
#include "kernels/concat/pieces.h"
#include "kernels/operators.h"

static ons_status *concat_infer(ons_operands *o) {
    uint32_t axis;
    ons_type result = o->inputs[0];
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), result.shape.rank, &axis));
    for (uint32_t i = 1; i < o->input_count; ++i) {
        const ons_type *next = &o->inputs[i];
        ons_shape expected = next->shape;
        if (expected.rank > axis) expected.dims[axis] = result.shape.dims[axis];
        char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
        if (next->dtype != result.dtype || !ons_shape_equal(&expected, &result.shape))
            return ons_node_error(o, "%s cannot follow %s along axis %u", ons_type_print(next, right),
                                  ons_type_print(&o->inputs[0], left), axis);
        if (__builtin_add_overflow(result.shape.dims[axis], next->shape.dims[axis], &result.shape.dims[axis]))
            return ons_node_error(o, "the result is too large");
    }
    o->outputs[0] = result;
    return NULL;
}

static void concat_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    uint32_t axis = concat_axis(o);
    int64_t start = 0;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        ons_piece_reference(&o->outputs[0].shape, &o->inputs[i].shape, axis, start, true, inputs[i], outputs[0]);
        start += o->inputs[i].shape.dims[axis];
    }
}

/* More pieces than a list of sizes may have: each by a Slice of its own. */
static ons_value_id cut_out(ons_gradient *g, int64_t start, int64_t length, int64_t axis) {
    int64_t end = start + length;
    ons_value_id from = ons_build_integers(g->builder, &start, 1), to = ons_build_integers(g->builder, &end, 1);
    return ons_build(g->builder, &ons_op_slice,
                     ONS_IN(g->cotangents[0], from, to, ons_build_integers(g->builder, &axis, 1)), ONS_DEFAULTS);
}

static ons_status *concat_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    uint32_t axis = concat_axis(o);
    int64_t sizes[ONS_INTEGERS_MAX], start = 0;
    for (uint32_t i = 0; i < o->input_count && o->input_count > ONS_INTEGERS_MAX; ++i) {
        int64_t length = o->inputs[i].shape.dims[axis];
        if (g->wanted[i]) g->gradients[i] = cut_out(g, start, length, axis);
        start += length;
    }
    if (o->input_count > ONS_INTEGERS_MAX) return NULL;
    for (uint32_t i = 0; i < o->input_count; ++i) sizes[i] = o->inputs[i].shape.dims[axis];
    ons_build_node(g->builder, &ons_op_split,
                   ONS_IN(g->cotangents[0], ons_build_integers(g->builder, sizes, o->input_count)),
                   ONS_WITH(ONS_AT_INT(0, axis)), o->input_count, g->wanted, g->gradients);
    return NULL;
}

/* Before opset 4 the axis could be left out. */
static ons_status *concat_upgrade(ons_upgrade *u) {
    if (u->opset >= 4 || ons_upgrade_find(u, "axis") != NULL) return NULL;
    return ons_upgrade_set(u, "axis", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1});
}

ONS_DEFINE_OPERATOR(concat, "Concat", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT)), ONS_INFER(concat_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(concat_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_CONCAT, ONS_TRAIT_ANY_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_pieces_choose_whole), ONS_FORMS(concat_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(concat_reference));
