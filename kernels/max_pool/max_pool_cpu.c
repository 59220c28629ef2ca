/* MaxPool on the CPU. */
#include "kernels/max_pool/max_pool.h"

#include <math.h>

#include "kernels/pooling/pooling.h"
#include "kernels/pooling/pooling_simd.h"

typedef struct max_pool_state {
    ons_pooling_plan plan;
    bool column_major;
} max_pool_state;

static ons_status *max_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    max_pool_state *state;
    ONS_NEW_STATE(state, p);
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
    ons_simd_float best = ons_simd_all(-INFINITY);
    ons_simd_int position = {0};
    position -= 1; /* nothing found yet: the first value is taken, whatever it is */
    for (int32_t kz = z->first; kz < z->end; ++kz)
        for (int32_t ky = y->first; ky < y->end; ++ky) {
            int64_t row = (z->start + kz * w->dilation[0]) * w->input[1] + y->start + ky * w->dilation[1];
            int32_t tap = (int32_t)((kz * w->kernel[1] + ky) * w->kernel[2]);
            for (int32_t kx = x->first; kx < x->end; ++kx) {
                ons_simd_float value =
                    ons_take(plane + (row * w->input[2] + x->start + kx * w->dilation[2]) * plan->width, count);
                ons_simd_int better = (value > best) | (value != value) | (position < 0);
                best = ons_simd_choose(better, value, best);
                position = ons_choose_ints(better, (ons_simd_int){0} + (tap + kx), position);
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
        for (; c + ONS_SIMD_FLOATS <= width; c += ONS_SIMD_FLOATS)
            pool_window(state, z, y, span, from + c, ONS_SIMD_FLOATS, to + c, r);
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

ONS_KERNELS(cpu, max_pool, ONS_KERNEL(max_pool_prepare, max_pool_run))
