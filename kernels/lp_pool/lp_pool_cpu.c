/* LpPool on the CPU. */
#include "kernels/lp_pool/lp_pool.h"

#include "kernels/pooling/pooling.h"
#include "kernels/pooling/pooling_simd.h"

typedef struct lp_pool_state {
    ons_pooling_plan plan;
    int p;
} lp_pool_state;

static ons_status *lp_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    int order;
    ons_resolved(resolve_lp_pooling(o, &pooling, &order));
    lp_pool_state *state;
    ONS_NEW_STATE(state, p);
    state->p = order;
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, false, &state->plan);
}

/* The sum over a window: of `count` channels, or of a plane's single one. */
typedef struct channel_sum {
    const float *plane;
    int64_t width;
    int count, p;
    ons_simd_float sum;
} channel_sum;

typedef struct single_sum {
    const float *plane;
    int p;
    float sum;
} single_sum;

static inline void add_squares(void *context, int64_t at) {
    channel_sum *s = context;
    ons_simd_float value = ons_take(s->plane + at * s->width, s->count);
    s->sum += value * value;
}

static inline void add_terms(void *context, int64_t at) {
    channel_sum *s = context;
    ons_simd_float value = ons_take(s->plane + at * s->width, s->count);
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) s->sum[i] += ons_lp_term(value[i], s->p);
}

static inline void add_single(void *context, int64_t at) {
    single_sum *s = context;
    s->sum += ons_lp_term(s->plane[at], s->p);
}

/* `count` channels of one window; they are added up before the root is taken, so that p = 2, the usual one, has nothing
 * but vector code. */
static inline __attribute__((always_inline)) void pool_window(const lp_pool_state *s, const ons_pooling_span *z,
                                                              const ons_pooling_span *y, const ons_pooling_span *x,
                                                              const float *plane, int count, float *to) {
    const ons_pooling_plan *plan = &s->plan;
    channel_sum total = {.plane = plane, .width = plan->width, .count = count, .p = s->p};
    if (s->p == 2)
        ons_pooling_each_tap(&plan->window, z, y, x, add_squares, &total);
    else
        ons_pooling_each_tap(&plan->window, z, y, x, add_terms, &total);
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) total.sum[i] = ons_lp_root(total.sum[i], s->p);
    ons_put(to, total.sum, count);
}

static float pool_single(const lp_pool_state *s, const ons_pooling_span *z, const ons_pooling_span *y,
                         const ons_pooling_span *x, const float *plane) {
    single_sum total = {.plane = plane, .p = s->p};
    ons_pooling_each_tap(&s->plan.window, z, y, x, add_single, &total);
    return ons_lp_root(total.sum, s->p);
}

/* One row of windows of one plane. */
static void pool_row(const lp_pool_state *s, int64_t plane, int64_t oz, int64_t oy, const float *x, float *y) {
    const ons_pooling_plan *plan = &s->plan;
    const ons_window *w = &plan->window;
    const ons_pooling_span *spans[] = {&plan->spans[0][oz], &plan->spans[1][oy], plan->spans[2]};
    int64_t width = plan->width;
    const float *from = x + plane * plan->inputs * width;
    float *to = y + (plane * plan->outputs + (oz * w->output[1] + oy) * w->output[2]) * width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox, ++spans[2], to += width) {
        if (width == 1) {
            *to = pool_single(s, spans[0], spans[1], spans[2], from);
            continue;
        }
        int64_t c = 0;
        for (; c + ONS_SIMD_FLOATS <= width; c += ONS_SIMD_FLOATS)
            pool_window(s, spans[0], spans[1], spans[2], from + c, ONS_SIMD_FLOATS, to + c);
        if (c < width) pool_window(s, spans[0], spans[1], spans[2], from + c, (int)(width - c), to + c);
    }
}

static void lp_pool_run(const ons_launch *launch) {
    const lp_pool_state *s = launch->state;
    const ons_pooling_plan *plan = &s->plan;
    int64_t columns = plan->window.output[1], rows = plan->window.output[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        pool_row(s, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

ONS_KERNELS(cpu, lp_pool, ONS_KERNEL(lp_pool_prepare, lp_pool_run))
