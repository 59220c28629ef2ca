#include "kernels/softmax/softmax_axis.h"

ons_status *ons_softmax_upgrade(ons_upgrade *u) {
    if (u->opset >= 13) return NULL;
    if (ons_upgrade_find(u, "axis") == NULL)
        ONS_TRY(ons_upgrade_set(u, "axis", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1}));
    return ons_upgrade_set(u, "onstage_flatten", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1});
}

static ons_status *find_view(const ons_operands *o, ons_axis_view *view) {
    return ons_axis_view_of(o, &o->inputs[0].shape, ons_attribute_int(o, ONS_SOFTMAX_AXIS),
                            ons_attribute_int(o, ONS_SOFTMAX_FLATTEN) != 0, view);
}

ons_axis_view ons_softmax_view(const ons_operands *o) {
    ons_axis_view view;
    ons_resolved(find_view(o, &view));
    return view;
}

ons_status *ons_softmax_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_axis_view view;
    ONS_TRY(find_view(o, &view));
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_type_print(&o->inputs[0], left));
    if (o->input_count > 1 && !ons_shape_equal(&o->inputs[0].shape, &o->inputs[1].shape))
        return ons_node_error(o, "output %s and cotangent %s differ in shape", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

ons_status *ons_softmax_build_gradient(ons_gradient *g, const ons_operator *op) {
    ons_build_node_like(g->builder, op, ONS_IN(ons_gradient_output(g, 0), g->cotangents[0]), g->operands->attributes, 1,
                        NULL, &g->gradients[0]);
    return NULL;
}
