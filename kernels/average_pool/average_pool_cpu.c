/* AveragePool on the CPU. */
#include "kernels/pooling/pooling.h"
#include "kernels/pooling/pooling_simd.h"

static ons_status *average_pool_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve(o, &o->inputs[0], &pooling));
    ons_pooling_plan *plan;
    ONS_NEW_STATE(plan, p);
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, true, plan);
}

/* The sum over a window: of `count` channels, or of a plane's single one. */
typedef struct channel_sum {
    const float *plane;
    int64_t width;
    int count;
    ons_simd_float sum;
} channel_sum;

typedef struct single_sum {
    const float *plane;
    float sum;
} single_sum;

static inline void add_channels(void *context, int64_t at) {
    channel_sum *s = context;
    s->sum += ons_take(s->plane + at * s->width, s->count);
}

static inline void add_single(void *context, int64_t at) {
    single_sum *s = context;
    s->sum += s->plane[at];
}

/* Inlined with a constant count, nothing is left of its handling. */
static inline __attribute__((always_inline)) ons_simd_float add_up(const ons_pooling_plan *plan,
                                                                   const ons_pooling_span *z, const ons_pooling_span *y,
                                                                   const ons_pooling_span *x, const float *plane,
                                                                   int count) {
    channel_sum s = {.plane = plane, .width = plan->width, .count = count};
    ons_pooling_each_tap(&plan->window, z, y, x, add_channels, &s);
    return s.sum;
}

static float add_up_single(const ons_pooling_plan *plan, const ons_pooling_span *z, const ons_pooling_span *y,
                           const ons_pooling_span *x, const float *plane) {
    single_sum s = {.plane = plane};
    ons_pooling_each_tap(&plan->window, z, y, x, add_single, &s);
    return s.sum;
}

/* One row of windows of one plane. */
static void pool_row(const ons_pooling_plan *plan, int64_t plane, int64_t oz, int64_t oy, const float *x, float *y) {
    const ons_window *w = &plan->window;
    const ons_pooling_span *spans[] = {&plan->spans[0][oz], &plan->spans[1][oy], plan->spans[2]};
    int64_t width = plan->width, row = (oz * w->output[1] + oy) * w->output[2];
    const float *from = x + plane * plan->inputs * width, *scale = plan->scales + row;
    float *to = y + (plane * plan->outputs + row) * width;
    for (int64_t ox = 0; ox < w->output[2]; ++ox, ++scale, ++spans[2], to += width) {
        if (width == 1) {
            *to = *scale * add_up_single(plan, spans[0], spans[1], spans[2], from);
            continue;
        }
        int64_t c = 0;
        for (; c + ONS_SIMD_FLOATS <= width; c += ONS_SIMD_FLOATS)
            ons_simd_store(to + c, *scale * add_up(plan, spans[0], spans[1], spans[2], from + c, ONS_SIMD_FLOATS));
        int rest = (int)(width - c);
        if (rest > 0) ons_put(to + c, *scale * add_up(plan, spans[0], spans[1], spans[2], from + c, rest), rest);
    }
}

static void average_pool_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.output[1], rows = plan->window.output[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        pool_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

ONS_KERNELS(cpu, average_pool, ONS_KERNEL(average_pool_prepare, average_pool_run))
