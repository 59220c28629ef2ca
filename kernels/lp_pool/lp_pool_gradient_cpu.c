/* LpPoolGradient on the CPU. */
#include "kernels/lp_pool/lp_pool_gradient.h"

#include "kernels/pooling/pooling.h"

typedef struct state {
    ons_pooling_plan plan;
    int p;
} state;

static ons_status *lp_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    int order;
    ons_resolved(resolve_lp_pooling(o, &pooling, &order));
    state *s;
    ONS_NEW_STATE(s, p);
    s->p = order;
    p->scratch_bytes = (ons_elements(&pooling.y) * (int64_t)sizeof(float) + 63) / 64 * 64;
    return ons_pooling_plan_make(p, &pooling, o->inputs[1].layout, false, &s->plan);
}

static void lp_pool_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const ons_pooling_plan *plan = &s->plan;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *y = launch->inputs[2];
    float *dx = launch->outputs[0], *shares = launch->scratch;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
    int64_t length = plan->window.input[2] * plan->width, windows = plan->planes * plan->outputs * plan->width;
    int p = s->p;
    if (p > 1) {
#pragma omp parallel for simd schedule(static) if (plan->parallel)
        for (int64_t i = 0; i < windows; ++i) shares[i] = dy[i] * ons_lp_share(y[i], p);
    }
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i) {
        ons_pooling_collect_row(plan, i / rows, i % rows / columns, i % columns, p > 1 ? shares : dy, dx);
        for (int64_t k = i * length; k < (i + 1) * length; ++k) dx[k] *= ons_lp_slope(x[k], p);
    }
}

ONS_KERNELS(cpu, lp_pool_gradient, ONS_KERNEL(lp_pool_gradient_prepare, lp_pool_gradient_run))
