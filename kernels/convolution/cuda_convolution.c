#include "kernels/convolution/cuda_convolution.h"

#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/common/layout/layouts.h"
#include "kernels/convolution/convolution.h"

enum { TILE = 64, BLOCKS_ENOUGH = 512, PARTS_MAX = 64, PART_DEPTH = 512 };

static bool fits(int64_t value, int *to) {
    *to = (int)value;
    return value >= 0 && value <= INT32_MAX;
}

static bool set_sizes(const ons_convolution *c, ons_cuda_convolution *s) {
    const ons_window *w = &c->window;
    int64_t batch = c->x.shape.dims[0], outputs = c->groups > 0 ? c->w.shape.dims[0] / c->groups : 0;
    int64_t channels = c->w.shape.dims[1], taps = ons_window_taps(w), inputs = ons_window_inputs(w),
            positions = ons_window_outputs(w);
    bool good = fits(batch, &s->batch) && fits(c->groups, &s->groups) && fits(outputs, &s->outputs) &&
                fits(channels, &s->channels) && fits(inputs, &s->inputs) && fits(positions, &s->positions) &&
                fits(taps, &s->taps);
    int unused;
    for (int i = 0; i < ONS_WINDOW_DIMS; ++i)
        good = good && fits(w->input[i], &s->input[i]) && fits(w->output[i], &s->output[i]) &&
               fits(w->kernel[i], &s->kernel[i]) && fits(w->stride[i], &s->stride[i]) &&
               fits(w->dilation[i], &s->dilation[i]) && w->begin[i] > -INT32_MAX && w->begin[i] < INT32_MAX / 4 &&
               fits(w->kernel[i] * w->dilation[i] + w->output[i] * w->stride[i], &unused);
    for (int i = 0; i < ONS_WINDOW_DIMS; ++i) s->begin[i] = (int)w->begin[i];
    if (!good) return false;
    switch (c->kind) {
    case ONS_CONVOLUTION_FORWARD:
        return fits(outputs, &s->rows) && fits(batch * positions, &s->columns) && fits(channels * taps, &s->depth);
    case ONS_CONVOLUTION_INPUT_GRADIENT:
        return fits(channels, &s->rows) && fits(batch * inputs, &s->columns) && fits(outputs * taps, &s->depth);
    default: return fits(outputs, &s->rows) && fits(channels * taps, &s->columns) && fits(batch * positions, &s->depth);
    }
}

static ons_cuda_distances distances_of(const ons_type *type) {
    int64_t channels = type->shape.dims[1], inner = ons_shape_span(&type->shape, 2, type->shape.rank);
    bool last = type->layout == ONS_LAYOUT_CHANNELS_LAST;
    return (ons_cuda_distances){channels * inner, last ? 1 : inner, last ? channels : 1};
}

/* Few tiles, as a weight gradient has: the depth is cut. */
static void set_parts(ons_prepare *p, ons_cuda_convolution *s) {
    int64_t tiles = (int64_t)s->groups * ((s->rows + TILE - 1) / TILE) * ((s->columns + TILE - 1) / TILE);
    int64_t parts = tiles > 0 && tiles < BLOCKS_ENOUGH ? BLOCKS_ENOUGH / tiles : 1, most = s->depth / PART_DEPTH;
    parts = parts > most ? most : parts;
    s->parts = parts < 1 ? 1 : parts > PARTS_MAX ? PARTS_MAX : (int)parts;
    int64_t floats = s->parts > 1 ? (int64_t)s->parts * s->groups * s->rows * s->columns : 0;
    p->scratch_bytes = (floats * (int64_t)sizeof(float) + 63) / 64 * 64;
}

enum { X, W, Y };

/* One step; arguments x, w and y, whichever is made. `padded`: channels of x and w, 0: their own. */
static ons_status *describe(ons_prepare *p, const ons_convolution *c, int64_t padded, ons_cudnn_graph **graph) {
    static const ons_cudnn_operation operations[] = {
        [ONS_CONVOLUTION_FORWARD] = ONS_CUDNN_CONVOLVE,
        [ONS_CONVOLUTION_INPUT_GRADIENT] = ONS_CUDNN_CONVOLVE_INPUT,
        [ONS_CONVOLUTION_WEIGHT_GRADIENT] = ONS_CUDNN_CONVOLVE_WEIGHT,
    };
    const ons_window *w = &c->window;
    ONS_TRY(ons_cudnn_graph_new(p, graph));
    ons_cudnn_graph *g = *graph;
    g->exact = c->x.dtype == ONS_FLOAT32 && !p->tf32;
    /* Where both orders are the same bytes the library wants to hear the one that the others have. */
    ons_type types[] = {c->x, c->w, c->y};
    bool last = false;
    for (int i = 0; padded > 0 && i < 2; ++i) {
        types[i].shape.dims[1] = padded;
        types[i].layout = ONS_LAYOUT_CHANNELS_LAST;
    }
    for (int i = 0; i < 3; ++i) last |= types[i].layout == ONS_LAYOUT_CHANNELS_LAST;
    for (int i = 0; last && i < 3; ++i)
        if (ons_layout_same_bytes(&types[i].shape, types[i].layout, ONS_LAYOUT_CHANNELS_LAST))
            types[i].layout = ONS_LAYOUT_CHANNELS_LAST;
    int64_t x = ons_cudnn_image(g, X, &types[0]), weight = ons_cudnn_image(g, W, &types[1]);
    int64_t y = ons_cudnn_image(g, Y, &types[2]);
    ons_cudnn_step *step = ons_cudnn_step_add(g, operations[c->kind], 0, x, weight, y, -1);
    ons_cudnn_set_window(step, w);
    return NULL;
}

static void destroy(void *state) { ons_cudnn_plan_free(((ons_cuda_convolution *)state)->plan); }

enum { PADDED = ONS_CUDA_PADDED_CHANNELS, FEWEST = 3 }; /* fewer channels are more memory than they are worth */

static bool wants_padding(const ons_convolution *c, const ons_cuda_convolution *s) {
    bool half = s->dtype == ONS_FLOAT16 || s->dtype == ONS_BFLOAT16;
    return half && s->groups == 1 && s->channels >= FEWEST && s->channels < PADDED &&
           c->kind != ONS_CONVOLUTION_INPUT_GRADIENT && c->x.layout == ONS_LAYOUT_CHANNELS_LAST && s->x.channel == 1 &&
           s->w.channel == 1;
}

/* Behind the library's scratch. Where it has no plan for it nothing has changed. */
static ons_status *plan_padded(ons_prepare *p, const ons_convolution *c, ons_cuda_convolution *s) {
    const int64_t unit = 256, limit = p->scratch_limit, size = (int64_t)ons_dtype_size(s->dtype) * PADDED;
    int64_t x = ((int64_t)s->batch * s->inputs * size + unit - 1) / unit * unit;
    int64_t w = ((int64_t)s->outputs * s->taps * size + unit - 1) / unit * unit;
    if (x + w + unit > limit) return NULL;
    ons_cudnn_graph *graph;
    ONS_TRY(describe(p, c, PADDED, &graph));
    p->scratch_limit = limit - x - w - unit;
    ons_status *status = ons_cudnn_prepare(p, graph, &s->plan);
    p->scratch_limit = limit;
    if (status != NULL || s->plan == NULL) return status;
    s->padded = true;
    s->padded_x_at = (p->scratch_bytes + unit - 1) / unit * unit;
    s->padded_w_at = s->padded_x_at + x;
    p->scratch_bytes = s->padded_w_at + w;
    return NULL;
}

static ons_status *plan(ons_prepare *p, const ons_convolution *c, ons_cuda_convolution *s) {
    bool empty = s->rows == 0 || s->columns == 0 || s->depth == 0 || s->groups == 0;
    if (!ons_cudnn_is_there() || empty || !ons_cudnn_is_symmetric(&c->window)) return NULL;
    int64_t own = p->scratch_bytes;
    ons_cudnn_graph *graph;
    p->scratch_bytes = 0;
    if (wants_padding(c, s)) ONS_TRY(plan_padded(p, c, s));
    if (s->plan == NULL) {
        ONS_TRY(describe(p, c, 0, &graph));
        ONS_TRY(ons_cudnn_prepare(p, graph, &s->plan));
    }
    if (s->plan == NULL)
        p->scratch_bytes = own;
    else
        p->destroy = destroy;
    return NULL;
}

void ons_cuda_convolution_run(const ons_cuda_convolution *s, const ons_launch *launch, const void *x, const void *w,
                              const void *y) {
    const void *const arguments[] = {[X] = x, [W] = w, [Y] = y};
    ons_cudnn_plan_run(s->plan, launch->stream, arguments, launch->scratch);
}

ons_status *ons_cuda_convolution_prepare(ons_prepare *p, const ons_convolution *c) {
    const ons_operands *o = p->operands;
    ons_cuda_convolution *s;
    if (ons_layout_is_weight(c->x.layout) || ons_layout_is_weight(c->w.layout) || ons_layout_is_weight(c->y.layout))
        return ons_node_error(o, "an operand has a layout of the CPU's weights");
    ONS_TRY(ons_cuda_require_float(o, c->x.dtype));
    ONS_NEW_STATE(s, p);
    s->dtype = c->x.dtype;
    s->kind = (int)c->kind;
    s->bias = c->bias;
    s->x = distances_of(&c->x);
    s->w = distances_of(&c->w);
    s->y = distances_of(&c->y);
    if (!set_sizes(c, s)) return ons_node_error(o, "the convolution is too large for the CUDA kernel");
    set_parts(p, s);
    if (p->scratch_bytes > p->scratch_limit) {
        s->parts = 1;
        p->scratch_bytes = 0;
    }
    p->implementation = "cuda:implicit product";
    return plan(p, c, s);
}
