#include "kernels/common/cuda_pooling.h"

#include "kernels/common/cuda_elementwise.h"

ons_status *ons_cuda_pooling_prepare(ons_prepare *p, const ons_pooling *pooling, ons_cuda_pooling **state) {
    const ons_operands *o = p->operands;
    ons_cuda_pooling *s;
    ons_dtype dtype = pooling->x.dtype;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, dtype));
    ONS_NEW(s, p->arena, 1);
    *s = (ons_cuda_pooling){.dtype = dtype,
                            .window = pooling->window,
                            .planes = pooling->x.shape.dims[0] * pooling->x.shape.dims[1],
                            .inputs = ons_window_inputs(&pooling->window),
                            .outputs = ons_window_outputs(&pooling->window),
                            .include_pad = pooling->include_pad,
                            .wide_position = pooling->position == ONS_INT32};
    p->state = *state = s;
    p->implementation = "cuda:windows";
    return NULL;
}

enum { X, Y };

static void destroy(void *state) { ons_dnn_plan_free(((ons_cuda_pooling *)state)->plan); }

/* Every window sees an element, and nothing is left out between two taps. */
static bool is_plain(const ons_window *w) {
    for (int i = 0; i < ONS_WINDOW_DIMS; ++i)
        if (w->dilation[i] != 1 || w->begin[i] >= w->kernel[i]) return false;
    return ons_dnn_is_symmetric(w);
}

ons_status *ons_cuda_pooling_plan(ons_prepare *p, const ons_pooling *pooling, ons_dnn_operation operation,
                                  ons_dnn_pooling mode, ons_cuda_pooling *state) {
    ons_dnn_graph *graph;
    if (ons_dnn_plan_new == NULL || state->planes == 0 || !is_plain(&pooling->window)) return NULL;
    ONS_TRY(ons_dnn_graph_new(p, &graph));
    int64_t x = ons_dnn_image(graph, X, &pooling->x), y = ons_dnn_image(graph, Y, &pooling->y);
    ons_dnn_set_window(ons_dnn_step_add(graph, operation, (int64_t)mode, x, y, -1, -1), &pooling->window);
    ONS_TRY(ons_dnn_prepare(p, graph, &state->plan));
    if (state->plan != NULL) p->destroy = destroy;
    return NULL;
}

void ons_cuda_pooling_run(const ons_cuda_pooling *state, const ons_launch *launch, const void *x, const void *y) {
    ons_dnn_plan_run(state->plan, launch->stream, (const void *const[]){[X] = x, [Y] = y}, launch->scratch);
}
