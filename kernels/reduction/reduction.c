#include "kernels/reduction/reduction.h"

#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/rules.h"
#include "kernels/operators.h"

ons_status *ons_reduction_axes(const ons_operands *o, bool reduced[static ONS_RANK_MAX]) {
    int64_t axes[ONS_INTEGERS_MAX];
    uint32_t count, rank = o->inputs[0].shape.rank;
    ONS_TRY(ons_constant_integers(o, 1, axes, &count));
    ONS_TRY(ons_node_axes(o, axes, count, rank, reduced));
    for (uint32_t i = 0; count == 0 && i < rank; ++i) reduced[i] = ons_attribute_int(o, ONS_REDUCTION_NOOP) == 0;
    return NULL;
}

int64_t ons_reduction_count(const ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    int64_t count = 1;
    ons_resolved(ons_reduction_axes(o, reduced));
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i) count *= reduced[i] ? o->inputs[0].shape.dims[i] : 1;
    return count;
}

static ons_shape kept_shape(const ons_shape *input, const bool *reduced) {
    ons_shape shape = *input;
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = reduced[i] ? 1 : shape.dims[i];
    return shape;
}

ons_status *ons_reduction_infer(ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    const ons_shape *input = &o->inputs[0].shape;
    ONS_TRY(ons_reduction_axes(o, reduced));
    ons_shape shape = {0};
    bool keeps = ons_attribute_int(o, ONS_REDUCTION_KEEPDIMS) != 0;
    for (uint32_t i = 0; i < input->rank; ++i)
        if (!reduced[i] || keeps) shape.dims[shape.rank++] = reduced[i] ? 1 : input->dims[i];
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

ons_cost ons_reduction_cost(const ons_operands *o) {
    double elements = (double)ons_elements(&o->inputs[0]);
    return (ons_cost){elements,
                      (elements + (double)ons_elements(&o->outputs[0])) * (double)ons_dtype_size(o->inputs[0].dtype)};
}

/* Results lie in the order of what is kept: with channels last, where both channels and positions are. */
ons_status *ons_reduction_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    const ons_shape *shape = &o->inputs[0].shape;
    bool reduced[ONS_RANK_MAX], keeps_positions = false;
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    if (o->inputs[0].layout != ONS_LAYOUT_CHANNELS_LAST || !ons_dtype_is_float(o->inputs[0].dtype)) return NULL;
    ONS_TRY(ons_reduction_axes(o, reduced));
    for (uint32_t i = 2; i < shape->rank; ++i) keeps_positions |= !reduced[i] && shape->dims[i] > 1;
    bool turns = keeps_positions && !reduced[1] && shape->dims[1] > 1;
    if (turns && ons_attribute_int(o, ONS_REDUCTION_KEEPDIMS) == 0) return NULL;
    inputs[0] = ONS_LAYOUT_CHANNELS_LAST;
    outputs[0] = turns ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    return NULL;
}

int64_t ons_reduction_target(const ons_operands *o, const bool reduced[static ONS_RANK_MAX], int64_t number) {
    int64_t index[ONS_RANK_MAX];
    ons_unravel(&o->inputs[0].shape, number, index);
    for (uint32_t i = 0; i < o->inputs[0].shape.rank; ++i) index[i] = reduced[i] ? 0 : index[i];
    ons_shape kept = kept_shape(&o->inputs[0].shape, reduced);
    return ons_ravel(&kept, index);
}

void ons_reduction_each(const ons_operands *o, const void *from, void *to, const ons_reduction_words *formulas) {
    bool reduced[ONS_RANK_MAX];
    int64_t results = ons_elements(&o->outputs[0]);
    ons_resolved(ons_reduction_axes(o, reduced));
    double count = (double)ons_reduction_count(o);
    for (int64_t i = 0; i < results; ++i) formulas->start(o, to, i);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        formulas->step(o, to, ons_reduction_target(o, reduced, i), from, i);
    for (int64_t i = 0; i < results; ++i) formulas->finish(to, i, count);
}

ons_value_id ons_reduction_keep(ons_gradient *g, ons_value_id value) {
    bool reduced[ONS_RANK_MAX];
    if (ons_attribute_int(g->operands, ONS_REDUCTION_KEEPDIMS) != 0 ||
        ons_builder_fail(g->builder, ons_reduction_axes(g->operands, reduced)))
        return value;
    ons_shape kept = kept_shape(&g->operands->inputs[0].shape, reduced);
    ons_shape now = ons_builder_type(g->builder, value).shape;
    return ons_shape_equal(&kept, &now) ? value : ons_build_reshape(g->builder, value, &kept);
}

ons_value_id ons_reduction_spread(ons_gradient *g, ons_value_id value) {
    const ons_shape *shape = &g->operands->inputs[0].shape;
    value = ons_reduction_keep(g, value);
    ons_shape now = ons_builder_type(g->builder, value).shape;
    if (value == ONS_NONE || ons_shape_equal(&now, shape)) return value;
    return ons_build(g->builder, &ons_op_expand,
                     ONS_IN(value, ons_build_integers(g->builder, shape->dims, shape->rank)), ONS_DEFAULTS);
}

ons_status *ons_reduction_min_max_gradient(ons_gradient *g) {
    ons_value_id result = ons_reduction_keep(g, ons_gradient_output(g, 0));
    ons_value_id same = ons_make2(g, &ons_op_equal, ons_gradient_input(g, 0), result);
    ons_value_id mask =
        ons_build(g->builder, &ons_op_cast, ONS_IN(same), ONS_WITH(ONS_AT_INT(0, g->operands->outputs[0].dtype)));
    ons_value_id ties = ons_make_like(g, &ons_op_reduce_sum, ONS_IN(mask, ons_gradient_input(g, 1)));
    ons_value_id share = ons_make2(g, &ons_op_div, g->cotangents[0], ties);
    g->gradients[0] = ons_make2(g, &ons_op_mul, mask, ons_reduction_keep(g, share));
    return NULL;
}
