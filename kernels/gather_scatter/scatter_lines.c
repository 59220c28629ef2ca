#include "kernels/gather_scatter/scatter_lines.h"

extern const ons_operator ons_op_gather_elements;
extern const ons_operator ons_op_scatter_elements_gradient;

ons_status *ons_scatter_lines_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(ons_scatter_lines_find_map(o, &map));
    if (!ons_shape_equal(&map.indices, &o->inputs[ONS_SCATTER_UPDATES].shape) ||
        o->inputs[ONS_SCATTER_UPDATES].dtype != o->inputs[ONS_SCATTER_DATA].dtype)
        return ons_node_error(o, "data, indices and updates do not fit together");
    if (ons_scatter_mode_of(ons_scatter_lines_reduction_of(o)) == ONS_SCATTER_MODES)
        return ons_node_error(o, "unknown reduction '%s'", ons_scatter_lines_reduction_of(o));
    o->outputs[0] = o->inputs[ONS_SCATTER_DATA];
    return NULL;
}

void ons_scatter_lines_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_line_map map = {0};
    ons_resolved(ons_scatter_lines_find_map(o, &map));
    ons_scatter_mode mode = ons_scatter_mode_of(ons_scatter_lines_reduction_of(o));
    memcpy(outputs[0], inputs[ONS_SCATTER_DATA], (size_t)ons_elements(&o->inputs[ONS_SCATTER_DATA]) * 8);
    for (int64_t i = 0, n = ons_elements(&o->inputs[ONS_SCATTER_INDICES]); i < n; ++i) {
        int64_t to = ons_line_reference(&map, step, i, ((const int64_t *)inputs[ONS_SCATTER_INDICES])[i]);
        if (to >= 0) ons_scatter_word(mode, o->outputs[0].dtype, outputs[0], to, inputs[ONS_SCATTER_UPDATES], i);
    }
}

/* Without a reduction an element that was replaced has no gradient; where two updates meet, which ONNX leaves open,
 * both get that of the element, as in PyTorch. */
ons_status *ons_scatter_lines_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    const char *reduction = ons_scatter_lines_reduction_of(o);
    ons_scatter_mode mode = ons_scatter_mode_of(reduction);
    ons_setting axis = ONS_AT_INT(ONS_SCATTER_AXIS, ons_attribute_int(o, ONS_SCATTER_AXIS));
    ons_setting name = ONS_AT_STRING(ONS_SCATTER_REDUCTION, reduction);
    ons_value_id dy = g->cotangents[0], indices = ons_gradient_input(g, ONS_SCATTER_INDICES);
    ons_value_id *d_data = &g->gradients[ONS_SCATTER_DATA], *d_updates = &g->gradients[ONS_SCATTER_UPDATES];
    if (mode != ONS_SCATTER_NONE && mode != ONS_SCATTER_ADD) {
        const bool wanted[2] = {g->wanted[ONS_SCATTER_DATA], g->wanted[ONS_SCATTER_UPDATES]};
        ons_value_id made[2] = {ONS_NONE, ONS_NONE};
        ons_build_node(g->builder, &ons_op_scatter_elements_gradient,
                       ONS_IN(dy, indices, ons_gradient_input(g, ONS_SCATTER_DATA),
                              ons_gradient_input(g, ONS_SCATTER_UPDATES), ons_gradient_output(g, 0)),
                       ONS_WITH(axis, name), 2, wanted, made);
        *d_data = made[0];
        *d_updates = made[1];
        return NULL;
    }
    if (g->wanted[ONS_SCATTER_UPDATES])
        *d_updates = ons_build(g->builder, &ons_op_gather_elements, ONS_IN(dy, indices), ONS_WITH(axis));
    if (g->wanted[ONS_SCATTER_DATA])
        *d_data = mode == ONS_SCATTER_ADD ? dy
                                          : ons_build(g->builder, &ons_op_scatter_elements_gradient,
                                                      ONS_IN(dy, indices), ONS_WITH(axis, name));
    return NULL;
}
