#include "kernels/pooling/cuda_pooling.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/layout/channels.h"

/* As ons_pooling_choose has it: one layout for all. */
static ons_status *require_one_layout(const ons_operands *o) {
    ons_layout layout = o->inputs[0].layout;
    if (ons_layout_is_weight(layout)) return ons_node_error(o, "input 0 has the layout of a weight");
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (o->inputs[i].layout != layout) return ons_node_error(o, "input %u has another layout than input 0", i);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) && o->outputs[i].layout != layout)
            return ons_node_error(o, "output %u has another layout than input 0", i);
    return NULL;
}

ons_status *ons_cuda_pooling_prepare(ons_prepare *p, const ons_pooling *pooling, ons_cuda_pooling **state) {
    const ons_operands *o = p->operands;
    ons_cuda_pooling *s;
    ons_dtype dtype = pooling->x.dtype;
    ONS_TRY(require_one_layout(o));
    ONS_TRY(ons_cuda_require_float(o, dtype));
    ONS_NEW(s, p->arena, 1);
    int64_t batch = pooling->x.shape.dims[0], channels = pooling->x.shape.dims[1];
    bool last = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST;
    *s = (ons_cuda_pooling){.dtype = dtype,
                            .window = pooling->window,
                            .planes = last ? batch : batch * channels,
                            .width = last ? channels : 1,
                            .inputs = ons_window_inputs(&pooling->window),
                            .outputs = ons_window_outputs(&pooling->window),
                            .include_pad = pooling->include_pad,
                            .wide_position = pooling->position == ONS_INT32};
    p->state = *state = s;
    p->implementation = "cuda:windows";
    return NULL;
}
