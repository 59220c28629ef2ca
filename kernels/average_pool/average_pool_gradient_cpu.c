/* AveragePoolGradient on the CPU. */
#include "kernels/pooling/pooling.h"

static ons_status *average_pool_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_pooling pooling;
    ons_resolved(ons_pooling_resolve_gradient(o, &o->inputs[0], &pooling));
    ons_pooling_plan *plan;
    ONS_NEW_STATE(plan, p);
    return ons_pooling_plan_make(p, &pooling, o->inputs[0].layout, true, plan);
}

static void average_pool_gradient_run(const ons_launch *launch) {
    const ons_pooling_plan *plan = launch->state;
    int64_t columns = plan->window.input[1], rows = plan->window.input[0] * columns;
#pragma omp parallel for schedule(static) if (plan->parallel)
    for (int64_t i = 0; i < plan->planes * rows; ++i)
        ons_pooling_collect_row(plan, i / rows, i % rows / columns, i % columns, launch->inputs[0], launch->outputs[0]);
}

ONS_KERNELS(cpu, average_pool_gradient, ONS_KERNEL(average_pool_gradient_prepare, average_pool_gradient_run))
