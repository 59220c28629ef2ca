#include "kernels/common/layout/axes.h"

#include "kernels/operators.h"

ons_status *ons_node_axes(const ons_operands *o, const int64_t *axes, uint32_t count, uint32_t rank,
                          bool chosen[static ONS_RANK_MAX]) {
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) chosen[i] = false;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t axis;
        ONS_TRY(ons_node_axis(o, axes[i], rank, &axis));
        if (chosen[axis]) return ons_node_error(o, "axis %u is listed twice", axis);
        chosen[axis] = true;
    }
    return NULL;
}

void ons_view_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs) {
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) ons_copy_word(outputs[0], i, inputs[0], i);
}

ons_value_id ons_build_reshape(ons_builder *builder, ons_value_id value, const ons_shape *shape) {
    return ons_build(builder, &ons_op_reshape, ONS_IN(value, ons_build_integers(builder, shape->dims, shape->rank)),
                     ONS_WITH(ONS_AT_INT(0, 1)));
}

ons_value_id ons_build_with_shape(ons_builder *builder, ons_value_id value, const ons_shape *shape) {
    ons_shape was = ons_builder_type(builder, value).shape;
    return ons_shape_equal(&was, shape) ? value : ons_build_reshape(builder, value, shape);
}

ons_status *ons_view_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build_reshape(g->builder, g->cotangents[0], &g->operands->inputs[0].shape);
    return NULL;
}

ons_status *ons_upgrade_axes_to_input_1(ons_upgrade *u) {
    return ons_upgrade_attribute_to_input(u, "axes", 1, ONS_INT64);
}
