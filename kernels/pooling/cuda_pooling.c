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

enum { X, Y };

static void destroy(void *state) { ons_cudnn_plan_free(((ons_cuda_pooling *)state)->plan); }

/* Every window sees an element, and nothing is left out between two taps. */
static bool is_plain(const ons_window *w) {
    for (int i = 0; i < ONS_WINDOW_DIMS; ++i)
        if (w->dilation[i] != 1 || w->begin[i] >= w->kernel[i]) return false;
    return ons_cudnn_is_symmetric(w);
}

ons_status *ons_cuda_pooling_plan(ons_prepare *p, const ons_pooling *pooling, ons_cudnn_operation operation,
                                  ons_cudnn_pooling mode, ons_cuda_pooling *state) {
    ons_cudnn_graph *graph;
    bool empty = state->planes == 0 || state->width == 0;
    if (!ons_cudnn_is_there() || empty || !is_plain(&pooling->window)) return NULL;
    ONS_TRY(ons_cudnn_graph_new(p, &graph));
    ons_type both[] = {pooling->x, pooling->y};
    for (int i = 0; i < 2; ++i) both[i].layout = p->operands->inputs[0].layout;
    int64_t x = ons_cudnn_image(graph, X, &both[0]), y = ons_cudnn_image(graph, Y, &both[1]);
    ons_cudnn_set_window(ons_cudnn_step_add(graph, operation, (int64_t)mode, x, y, -1, -1), &pooling->window);
    ONS_TRY(ons_cudnn_prepare(p, graph, &state->plan));
    if (state->plan != NULL) p->destroy = destroy;
    return NULL;
}

void ons_cuda_pooling_run(const ons_cuda_pooling *state, const ons_launch *launch, const void *x, const void *y) {
    ons_cudnn_plan_run(state->plan, launch->stream, (const void *const[]){[X] = x, [Y] = y}, launch->scratch);
}
