/* Pad: the input with a border, which may be negative and then cuts: constant, the tensor mirrored (reflect), its last
 * element repeated (edge), or the tensor repeated (wrap). */
#include "kernels/pad/pad_node.h"

#include "graph/upgrade.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/layout/channels.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"
#include "kernels/pad/padding.h"

static ons_status *pad_infer(ons_operands *o) {
    const ons_type *data = &o->inputs[ONS_PADDING_DATA], *value = &o->inputs[ONS_PADDING_VALUE];
    ons_padding padding;
    ONS_TRY(ons_padding_of(o, &data->shape, &padding));
    if (ons_has_input(o, ONS_PADDING_VALUE) && (ons_elements(value) != 1 || value->dtype != data->dtype))
        return ons_node_error(o, "the value must be one element of the input's type");
    o->outputs[0] = ons_type_make(data->dtype, padding.output);
    return NULL;
}

static void pad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_padding padding;
    ons_resolved(ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &padding));
    uint64_t own = own_value(o);
    const void *value = ons_has_input(o, ONS_PADDING_VALUE) ? inputs[ONS_PADDING_VALUE] : &own;
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&padding.output, i, index);
        for (uint32_t axis = 0; axis < padding.output.rank; ++axis) {
            index[axis] = ons_padding_source(&padding, axis, index[axis]);
            inside &= index[axis] >= 0;
        }
        if (inside)
            ons_copy_word(outputs[0], i, inputs[ONS_PADDING_DATA], ons_ravel(&padding.input, index));
        else
            ons_copy_word(outputs[0], i, value, 0);
    }
}

/* A border taken off again; what was cut away gets zeros. */
static ons_value_id gradient_of_constant(ons_gradient *g, const ons_padding *padding) {
    uint32_t rank = padding->input.rank;
    int64_t pads[2 * ONS_RANK_MAX];
    for (uint32_t i = 0; i < rank; ++i) {
        pads[i] = -padding->before[i];
        pads[rank + i] = -padding->after[i];
    }
    return ons_build(g->builder, &ons_op_pad, ONS_IN(g->cotangents[0], ons_build_integers(g->builder, pads, 2 * rank)),
                     ONS_DEFAULTS);
}

/* All cotangents but those that came from the data. */
static ons_value_id gradient_of_value(ons_gradient *g, ons_value_id inside) {
    const ons_settings drop = ONS_WITH(ONS_AT_INT(0, 0));
    ons_value_id all = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(g->cotangents[0], ONS_NONE), drop);
    ons_value_id part = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(inside, ONS_NONE), drop);
    return ons_build_reshape(g->builder, ons_make2(g, &ons_op_sub, all, part),
                             &g->operands->inputs[ONS_PADDING_VALUE].shape);
}

static ons_status *pad_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    const ons_shape *shape = &o->inputs[ONS_PADDING_DATA].shape;
    ons_padding padding;
    ons_resolved(ons_padding_of(o, shape, &padding));
    if (padding.mode != ONS_PAD_CONSTANT) {
        g->gradients[ONS_PADDING_DATA] =
            ons_build(g->builder, &ons_op_pad_gradient,
                      ONS_IN(g->cotangents[0], ons_gradient_input(g, ONS_PADDING_PADS), ONS_NONE,
                             ons_gradient_input(g, ONS_PADDING_AXES)),
                      ONS_WITH(ONS_AT_STRING(ONS_PADDING_MODE, ons_attribute_string(o, ONS_PADDING_MODE)),
                               ONS_AT_INTS(1, shape->rank, shape->dims)));
        return NULL;
    }
    ons_value_id inside = gradient_of_constant(g, &padding);
    g->gradients[ONS_PADDING_DATA] = inside;
    if (ons_has_input(o, ONS_PADDING_VALUE) && g->wanted[ONS_PADDING_VALUE])
        g->gradients[ONS_PADDING_VALUE] = gradient_of_value(g, inside);
    return NULL;
}

/* Opset 1 says "paddings"; up to opset 10 pads and value are attributes. */
static ons_status *pad_upgrade(ons_upgrade *u) {
    if (u->opset >= 11) return NULL;
    ONS_TRY(ons_upgrade_attribute_to_input(u, u->opset < 2 ? "paddings" : "pads", ONS_PADDING_PADS, ONS_INT64));
    const ons_attribute *value = ons_upgrade_find(u, "value");
    if (value == NULL) return NULL;
    ONS_TRY(ons_upgrade_set(u, "onstage_value", *value));
    ons_upgrade_remove(u, "value");
    return NULL;
}

ONS_DEFINE_OPERATOR(pad, "Pad", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("mode", "constant"), ONS_FLOAT_ATTRIBUTE("onstage_value", 0)),
                    ONS_INFER(pad_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(pad_gradient, ONS_INPUT_BIT(ONS_PADDING_DATA) | ONS_INPUT_BIT(ONS_PADDING_VALUE)),
                    ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_FORMS(pad_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(pad_reference));
