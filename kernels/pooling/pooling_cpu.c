/* What the CPU runs of pooling.h. */
#include "kernels/pooling/pooling.h"

static ons_pooling_cover cover_of(const ons_window *w, int dim, int64_t input) {
    int64_t at = input + w->begin[dim], before = at - w->dilation[dim] * (w->kernel[dim] - 1);
    int64_t first = before <= 0 ? 0 : (before + w->stride[dim] - 1) / w->stride[dim], last = at / w->stride[dim];
    return (ons_pooling_cover){(int32_t)first, (int32_t)(last >= w->output[dim] ? w->output[dim] - 1 : last)};
}

ons_status *ons_pooling_plan_make(ons_prepare *p, const ons_pooling *pooling, ons_layout layout, bool average,
                                  ons_pooling_plan *plan) {
    const ons_window *w = &pooling->window;
    ONS_TRY(ons_require_float32_of(p->operands, &pooling->x));
    int64_t batch = pooling->x.shape.dims[0], channels = pooling->x.shape.dims[1];
    bool last = layout == ONS_LAYOUT_CHANNELS_LAST;
    *plan = (ons_pooling_plan){.window = *w,
                               .planes = last ? batch : batch * channels,
                               .width = last ? channels : 1,
                               .inputs = ons_window_inputs(w),
                               .outputs = ons_window_outputs(w),
                               .wide_position = pooling->position == ONS_INT32};
    plan->parallel = plan->planes * plan->width * plan->inputs > ONS_PARALLEL_GRAIN;
    for (int dim = 0; dim < ONS_WINDOW_DIMS; ++dim) {
        ons_pooling_span *spans;
        ONS_NEW(spans, p->arena, (size_t)w->output[dim]);
        for (int64_t i = 0; i < w->output[dim]; ++i) spans[i] = ons_pooling_span_of(w, dim, i);
        plan->spans[dim] = spans;
        plan->overlap |= w->dilation[dim] * (w->kernel[dim] - 1) >= w->stride[dim];
    }
    for (int dim = 0; dim < ONS_WINDOW_DIMS - 1; ++dim) {
        ons_pooling_cover *covers;
        ONS_NEW(covers, p->arena, (size_t)w->input[dim]);
        for (int64_t i = 0; i < w->input[dim]; ++i) covers[i] = cover_of(w, dim, i);
        plan->covers[dim] = covers;
    }
    if (!average) return NULL;
    float *scales;
    ONS_NEW(scales, p->arena, (size_t)plan->outputs);
    for (int64_t i = 0; i < plan->outputs; ++i)
        scales[i] = 1.0f / (float)ons_pooling_divisor_at(w, pooling->include_pad, i);
    plan->scales = scales;
    return NULL;
}
