/* MaxPool. Beside ONNX's two outputs there is a third one for the gradient: where in its window each maximum was found.
 */
#include <math.h>
#include <string.h>

#include "kernels/common/channels.h"
#include "kernels/common/cuda_pooling.h"
#include "kernels/common/pooling.h"
#include "kernels/common/pooling_lanes.h"

enum { Y, INDICES, POSITIONS };

static ons_status *max_pool_infer(ons_operands *o) {
    ons_pooling pooling;
    if (!ons_dtype_is_float(o->inputs[0].dtype) && !ons_dtype_is_integer(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    o->outputs[Y] = pooling.y;
    if (o->output_count > INDICES) o->outputs[INDICES] = ons_type_make(ONS_INT64, pooling.y.shape);
    if (o->output_count > POSITIONS) o->outputs[POSITIONS] = ons_type_make(pooling.position, pooling.y.shape);
    return NULL;
}

static ons_cost max_pool_cost(const ons_operands *o) {
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    double comparisons = (double)ons_elements(&pooling.y) * (double)ons_window_taps(&pooling.window);
    return (ons_cost){comparisons, ons_operand_bytes(o)};
}

/* Indices count through the whole tensor in ONNX's order; so do the stand-ins for other dtypes. */
static ons_status *max_pool_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    if (!ons_has_output(o, INDICES) && (o->inputs[0].dtype == ONS_FLOAT32 || ons_layout_is_for_cuda(o)))
        return ons_pooling_choose(o, inputs, outputs);
    return NULL; /* ONNX's order for all */
}

/* The index that ONNX wants for input position `at` of a plane; storage_order 1 counts the first spatial dim fastest.
 */
static int64_t index_of(const ons_window *w, bool column_major, int64_t plane, int64_t at) {
    int64_t base = plane * ons_window_inputs(w);
    if (!column_major) return base + at;
    int64_t x = at % w->input[2], y = at / w->input[2] % w->input[1], z = at / w->input[2] / w->input[1];
    return base + (x * w->input[1] + y) * w->input[0] + z;
}

/* Whether a tap's value takes the place of the best one so far; NaN always does. */
static bool is_better(ons_dtype dtype, const void *x, int64_t at, int64_t best) {
    if (best < 0) return true;
    if (dtype == ONS_UINT64) return ((const uint64_t *)x)[at] > ((const uint64_t *)x)[best];
    if (!ons_dtype_is_float(dtype)) return ((const int64_t *)x)[at] > ((const int64_t *)x)[best];
    const double *words = x;
    return words[at] > words[best] || isnan(words[at]);
}

static void max_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    (void)step;
    ons_pooling pooling;
    ons_status_free(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    const ons_window *w = &pooling.window;
    const uint64_t *words = inputs[0];
    uint64_t *y = outputs[Y];
    int64_t *indices = o->output_count > INDICES ? outputs[INDICES] : NULL;
    int64_t *positions = o->output_count > POSITIONS ? outputs[POSITIONS] : NULL;
    int64_t planes = pooling.x.shape.dims[0] * pooling.x.shape.dims[1], count = ons_window_outputs(w);
    bool column_major = ons_attribute_int(o, ONS_POOLING_STORAGE_ORDER) != 0;
    static const double nothing = -INFINITY;
    for (int64_t i = 0; i < planes * count; ++i) {
        int64_t found = 0, best = -1, base = i / count * ons_window_inputs(w);
        for (int64_t tap = 0, taps = ons_window_taps(w); tap < taps; ++tap) {
            int64_t at;
            if (!ons_window_position(w, i % count, tap, &at) || !is_better(pooling.x.dtype, words, base + at, best))
                continue;
            best = base + at;
            found = tap;
        }
        if (best >= 0)
            y[i] = words[best];
        else if (ons_dtype_is_float(pooling.x.dtype))
            memcpy(&y[i], &nothing, sizeof nothing);
        else
            y[i] = 0;
        if (indices != NULL) indices[i] = index_of(w, column_major, i / count, best < 0 ? 0 : best - base);
        if (positions != NULL) positions[i] = found;
    }
}

typedef struct max_pool_state {
    ons_pooling_plan plan;
    bool column_major;
} max_pool_state;

static ons_status *max_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(max_pool_state), &memory));
    max_pool_state *state = memory;
    state->column_major = ons_attribute_int(o, ONS_POOLING_STORAGE_ORDER) != 0;
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, false, &state->plan);
}

/* What a run of windows writes. */
typedef struct results {
    float *y;
    int64_t *indices;
    void *positions;
} results;

/* `count` channels of one window: maximum and its tap. Inlined with a constant count, nothing is left of its handling.
 */
static inline __attribute__((always_inline)) void pool_window(const max_pool_state *state, const ons_pooling_span *z,
                                                              const ons_pooling_span *y, const ons_pooling_span *x,
                                                              const float *plane, int count, int64_t to,
                                                              const results *r) {
    const ons_pooling_plan *plan = &state->plan;
    const ons_window *w = &plan->window;
    ons_lanes best = ons_lanes_all(-INFINITY);
    ons_int_lanes position = {0};
    position -= 1; /* nothing found yet: the first value is taken, whatever it is */
    for (int32_t kz = z->first; kz < z->end; ++kz)
        for (int32_t ky = y->first; ky < y->end; ++ky) {
            int64_t row = (z->start + kz * w->dilation[0]) * w->input[1] + y->start + ky * w->dilation[1];
            int32_t tap = (int32_t)((kz * w->kernel[1] + ky) * w->kernel[2]);
            for (int32_t kx = x->first; kx < x->end; ++kx) {
                ons_lanes value =
                    ons_take(plane + (row * w->input[2] + x->start + kx * w->dilation[2]) * plan->width, count);
                ons_int_lanes better = (value > best) | (value != value) | (position < 0);
                best = ons_choose_lanes(better, value, best);
                position = ons_choose_ints(better, (ons_int_lanes){0} + (tap + kx), position);
            }
        }
    ons_put(r->y + to, best, count);
    if (r->positions != NULL && plan->wide_position)
        ons_put_ints((int32_t *)r->positions + to, position, count);
    else if (r->positions != NULL)
        ons_put_bytes((uint8_t *)r->positions + to, position, count);
}

/* One window of one channel in ONNX's order. */
static void pool_single(const max_pool_state *state, const ons_pooling_span *z, const ons_pooling_span *y,
                        const ons_pooling_span *x, const float *plane, int64_t plane_number, int64_t to,
                        const results *r) {
    const ons_window *w = &state->plan.window;
    float best = -INFINITY;
    int64_t position = -1, where = 0;
    for (int32_t kz = z->first; kz < z->end; ++kz)
        for (int32_t ky = y->first; ky < y->end; ++ky) {
            int64_t row = (z->start + kz * w->dilation[0]) * w->input[1] + y->start + ky * w->dilation[1];
            for (int32_t kx = x->first; kx < x->end; ++kx) {
                int64_t at = row * w->input[2] + x->start + kx * w->dilation[2];
                bool better = plane[at] > best || plane[at] != plane[at] || position < 0;
                best = better ? plane[at] : best;
                where = better ? at : where;
                position = better ? (kz * w->kernel[1] + ky) * w->kernel[2] + kx : position;
            }
        }
    r->y[to] = best;
    if (r->positions != NULL && state->plan.wide_position)
        ((int32_t *)r->positions)[to] = (int32_t)position;
    else if (r->positions != NULL)
        ((uint8_t *)r->positions)[to] = (uint8_t)position;
    if (r->indices != NULL) r->indices[to] = index_of(w, state->column_major, plane_number, where);
}

/* One row of windows of one plane. */
static void pool_row(const max_pool_state *state, int64_t plane, int64_t oz, int64_t oy, const float *x,
                     const results *r) {
    const ons_pooling_plan *plan = &state->plan;
    const ons_pooling_span *z = &plan->spans[0][oz], *y = &plan->spans[1][oy];
    int64_t width = plan->width, outputs = plan->window.output[2];
    int64_t to = ((plane * plan->window.output[0] + oz) * plan->window.output[1] + oy) * outputs * width;
    const float *from = x + plane * plan->inputs * width;
    for (int64_t ox = 0; ox < outputs; ++ox, to += width) {
        const ons_pooling_span *span = &plan->spans[2][ox];
        if (width == 1) {
            pool_single(state, z, y, span, from, plane, to, r);
            continue;
        }
        int64_t c = 0;
        for (; c + ONS_LANES <= width; c += ONS_LANES) pool_window(state, z, y, span, from + c, ONS_LANES, to + c, r);
        if (c < width) pool_window(state, z, y, span, from + c, (int)(width - c), to + c, r);
    }
}

static void max_pool_run(const ons_launch *launch) {
    const max_pool_state *state = launch->state;
    const ons_pooling_plan *plan = &state->plan;
    const float *x = launch->inputs[0];
    results r = {launch->outputs[Y], launch->outputs[INDICES], launch->outputs[POSITIONS]};
    int64_t columns = plan->window.output[1], rows = plan->window.output[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i) pool_row(state, i / rows, i % rows / columns, i % columns, x, &r);
}

static ons_status *max_pool_gradient(ons_gradient *g) {
    ons_pooling pooling;
    ONS_TRY(ons_pooling_resolve(g->operands, &g->operands->inputs[0], &pooling));
    g->gradients[0] = ons_pooling_build_gradient(g, &ons_op_max_pool_gradient, &pooling,
                                                 ONS_IN(g->cotangents[Y], ons_gradient_output(g, POSITIONS)));
    return NULL;
}

static ons_status *max_pool_prepare_cuda(ons_prepare *p) {
    ons_pooling pooling;
    ons_cuda_pooling *s;
    ONS_TRY(ons_pooling_resolve(p->operands, &p->operands->inputs[0], &pooling));
    ONS_TRY(ons_cuda_pooling_prepare(p, &pooling, &s));
    s->column_major = ons_attribute_int(p->operands, ONS_POOLING_STORAGE_ORDER) != 0;
    if (ons_has_output(p->operands, INDICES) || ons_has_output(p->operands, POSITIONS)) return NULL;
    return ons_cuda_pooling_plan(p, &pooling, ONS_DNN_POOL, ONS_DNN_POOL_MAXIMUM, s);
}

static const ons_case max_pool_cases[] = {
    {.name = "halves",
     .inputs = {ONS_F32(2, 3, 6, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .outputs = 3,
     .flops = 288},
    {.name = "overlap",
     .inputs = {ONS_F32(2, 17, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .outputs = 3,
     .flops = 6120},
    {.name = "packs", /* of channels, where they lie side by side; some windows are cut off, and one dilated */
     .inputs = {ONS_F32(2, 16, 7, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 2), ONS_SET_INTS("strides", 1, 2), ONS_SET_INTS("pads", 1, 0, 2, 1),
                  ONS_SET_INTS("dilations", 2, 1)},
     .outputs = 3,
     .flops = 5760},
    {.name = "far_apart", /* places that 32 bits do not count */
     .inputs = {ONS_F32(1, 2, 5, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 1073741824, 1)},
     .outputs = 3,
     .flops = 24},
    {.name = "ceil",
     .inputs = {ONS_F32(1, 2, 6, 7)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INT("ceil_mode", 1)},
     .outputs = 3,
     .flops = 162},
    {.name = "dilations",
     .inputs = {ONS_F32(1, 2, 8, 9)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 3), ONS_SET_INTS("dilations", 3, 2),
                  ONS_SET_INTS("pads", 1, 0, 2, 3)},
     .outputs = 3,
     .flops = 768},
    {.name = "same_upper",
     .inputs = {ONS_F32(1, 2, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_STRING("auto_pad", "SAME_UPPER")},
     .flops = 200},
    {.name = "column_major",
     .inputs = {ONS_F32(2, 2, 5, 4)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INT("storage_order", 1)},
     .outputs = 2,
     .flops = 192},
    {.name = "one_dim",
     .inputs = {ONS_F32(2, 3, 11)},
     .settings = {ONS_SET_INTS("kernel_shape", 3)},
     .outputs = 3,
     .flops = 162},
    {.name = "three_dims",
     .inputs = {ONS_F32(1, 2, 4, 5, 6)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2, 3)},
     .outputs = 3,
     .flops = 1152},
    {.name = "wide_window",
     .inputs = {ONS_F32(1, 2, 20, 20)},
     .settings = {ONS_SET_INTS("kernel_shape", 17, 17)},
     .outputs = 3,
     .flops = 9248},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 6, 8)}, .settings = {ONS_SET_INTS("kernel_shape", 2, 2)}, .flops = 0},
    {.name = "resnet",
     .inputs = {ONS_F32(16, 64, 112, 112)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("strides", 2, 2), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .outputs = 3,
     .flops = 28901376,
     .benchmark = true},
    {.name = "bytes",
     .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 1, 2, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("strides", 2, 2)},
     .outputs = 2,
     .flops = 32,
     .no_gradient = true},
    {.name = "signed_bytes",
     .inputs = {ONS_RANDOM(ONS_INT8, -128, 127, 1, 2, 5, 5)},
     .settings = {ONS_SET_INTS("kernel_shape", 3, 3), ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .flops = 450,
     .no_gradient = true},
    {.name = "no_kernel_shape", .inputs = {ONS_F32(2, 3, 6, 8)}, .error = "kernel_shape"},
    {.name = "padding_alone",
     .inputs = {ONS_F32(2, 3, 6, 8)},
     .settings = {ONS_SET_INTS("kernel_shape", 2, 2), ONS_SET_INTS("pads", 2, 0, 0, 0)},
     .error = "padding"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(max_pool, "MaxPool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 3),
                    ONS_ATTRIBUTES(ONS_POOLING_ATTRIBUTES), ONS_INFER(max_pool_infer), ONS_COST(max_pool_cost),
                    ONS_GRADIENT_RULE(max_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, 1u << POSITIONS),
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(max_pool_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(max_pool_reference), ONS_CPU_KERNEL(max_pool_prepare, max_pool_run),
                    ONS_CUDA_KERNEL(max_pool_prepare_cuda, ons_cuda_max_pool), max_pool_cases);
