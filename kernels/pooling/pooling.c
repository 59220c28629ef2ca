#include "kernels/pooling/pooling.h"

ons_status *ons_pooling_resolve(const ons_operands *o, const ons_type *x, ons_pooling *pooling) {
    bool ceil_mode = ons_attribute_int(o, ONS_POOLING_CEIL_MODE) != 0;
    pooling->x = *x;
    pooling->include_pad = ons_attribute_int(o, ONS_POOLING_COUNT_INCLUDE_PAD) != 0;
    ONS_TRY(ons_window_resolve(o, &x->shape, NULL, ceil_mode, &pooling->window));
    const ons_window *w = &pooling->window;
    for (uint32_t i = 0; i < ONS_WINDOW_DIMS; ++i)
        if (w->begin[i] > w->dilation[i] * (w->kernel[i] - 1) || w->end[i] > w->dilation[i] * (w->kernel[i] - 1))
            return ons_node_error(o, "padding of %lld and %lld leaves a window of %lld without any input",
                                  (long long)w->begin[i], (long long)w->end[i], (long long)w->kernel[i]);
    pooling->position = ons_window_taps(w) <= UINT8_MAX ? ONS_UINT8 : ONS_INT32;
    pooling->y = ons_type_make(x->dtype, ons_window_output_shape(w, x->shape.dims[0], x->shape.dims[1]));
    ONS_TRY_AT(ons_shape_check(&pooling->y.shape), "node '%s'", o->name);
    return NULL;
}

ons_status *ons_pooling_resolve_gradient(const ons_operands *o, const ons_type *dy, ons_pooling *pooling) {
    ons_type x = ons_type_make(dy->dtype, (ons_shape){0});
    ONS_TRY(ons_window_shape_attribute(o, ONS_POOLING_INPUT_SHAPE, &x.shape));
    ONS_TRY(ons_pooling_resolve(o, &x, pooling));
    if (!ons_shape_equal(&pooling->y.shape, &dy->shape))
        return ons_node_error(o, "the gradient does not have the shape of the pooling's output");
    return NULL;
}

ons_value_id ons_pooling_build_gradient(ons_gradient *g, const ons_operator *op, const ons_pooling *pooling,
                                        ons_inputs inputs) {
    ons_window_settings s;
    ons_window_get_settings(&pooling->window, &pooling->x.shape, &s);
    return ons_build(g->builder, op, inputs,
                     ONS_WITH(ONS_WINDOW_WITH(&pooling->window, &s),
                              ONS_AT_INT(ONS_POOLING_CEIL_MODE, ons_attribute_int(g->operands, ONS_POOLING_CEIL_MODE)),
                              ONS_AT_INT(ONS_POOLING_COUNT_INCLUDE_PAD, pooling->include_pad),
                              ONS_AT_INTS(ONS_POOLING_INPUT_SHAPE, pooling->x.shape.rank, s.input)));
}

ons_status *ons_pooling_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_layout layout = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = layout;
    for (uint32_t i = 0; i < o->output_count; ++i) outputs[i] = layout;
    return NULL;
}

int64_t ons_pooling_divisor_at(const ons_window *w, bool include_pad, int64_t output) {
    int64_t count = 1;
    for (int i = ONS_WINDOW_DIMS - 1; i >= 0; --i) {
        int64_t at = output % w->output[i];
        ons_pooling_span span = ons_pooling_span_of(w, i, at);
        output /= w->output[i];
        if (!include_pad) {
            count *= span.end - span.first;
            continue;
        }
        /* Taps before the end of the padding; in ceil mode some lie behind it and do not count. */
        int64_t room = w->input[i] + w->begin[i] + w->end[i] - at * w->stride[i];
        int64_t end = (room + w->dilation[i] - 1) / w->dilation[i];
        count *= end > w->kernel[i] ? w->kernel[i] : end;
    }
    return count;
}
