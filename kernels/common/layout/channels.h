/* A tensor (N, C, spatial…) as normalisation and global pooling see it, in ONNX's order or with channels last. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_CHANNELS_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_CHANNELS_H

#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/kernel.h"

typedef struct ons_channels {
    int64_t batch, channels, positions; /* positions of one sample: the product of its spatial dims */
    bool last;                          /* channels lie side by side */
} ons_channels;

#ifndef __cplusplus

static inline ons_channels ons_channels_of(const ons_type *type) {
    const ons_shape *shape = &type->shape;
    ons_channels c = {.batch = shape->dims[0], .channels = shape->dims[1], .positions = 1};
    c.positions = shape->rank > 2 ? ons_shape_span(shape, 2, shape->rank) : 1;
    c.last = type->layout == ONS_LAYOUT_CHANNELS_LAST || c.positions == 1;
    return c;
}

/* Whether a layout rule is asked for the CUDA kernel: graph/passes/layout.h. */
static inline bool ons_layout_is_for_cuda(const ons_operands *o) {
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].dtype == ONS_FLOAT16 || o->inputs[i].dtype == ONS_BFLOAT16) return true;
    return false;
}

/* Channels last where any of the inputs [0, count) of the shape of input 0 is, for all operands of that shape; the
 * others in ONNX's order. */
static inline void ons_channels_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_layout layout = ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].layout == ONS_LAYOUT_CHANNELS_LAST) layout = ONS_LAYOUT_CHANNELS_LAST;
    for (uint32_t i = 0; i < o->input_count; ++i)
        inputs[i] = ons_shape_equal(&o->inputs[i].shape, &o->inputs[0].shape) ? layout : ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->output_count; ++i)
        outputs[i] = ons_shape_equal(&o->outputs[i].shape, &o->inputs[0].shape) ? layout : ONS_LAYOUT_ONNX;
}

/* For operators of one tensor that take it both ways on every device: the result lies as input 0 does. */
static inline ons_status *ons_channels_keep_first(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    bool last = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST;
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->output_count; ++i) outputs[i] = ONS_LAYOUT_ONNX;
    inputs[0] = outputs[0] = last ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    return NULL;
}

/* The same, where the CUDA kernels take ONNX's order alone. */
static inline ons_status *ons_channels_choose_first(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    bool last = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST && !ons_layout_is_for_cuda(o);
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    for (uint32_t i = 0; i < o->output_count; ++i) outputs[i] = ONS_LAYOUT_ONNX;
    inputs[0] = outputs[0] = last ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    return NULL;
}

/* The axis that stands at `place` in memory. */
static inline uint32_t ons_channels_axis(ons_layout layout, uint32_t rank, uint32_t place) {
    if (layout != ONS_LAYOUT_CHANNELS_LAST || place == 0) return place;
    return place + 1 < rank ? place + 1 : 1;
}

/* Elements between neighbours along each axis, as ONNX numbers them, in ONNX's order or with channels last. */
static inline void ons_channels_strides(const ons_type *type, int64_t strides[ONS_AT_LEAST(ONS_RANK_MAX)]) {
    int64_t stride = 1;
    for (uint32_t place = type->shape.rank; place-- > 0;) {
        uint32_t axis = ons_channels_axis(type->layout, type->shape.rank, place);
        strides[axis] = stride;
        stride *= type->shape.dims[axis];
    }
}

#endif /* __cplusplus */

#endif
