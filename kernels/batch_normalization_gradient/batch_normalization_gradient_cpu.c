/* BatchNormalizationGradient on the CPU. */
#include "kernels/batch_normalization_gradient/batch_normalization_gradient.h"

#include <math.h>

#include "kernels/common/batch_statistics.h"

typedef struct state {
    ons_batch_plan plan;
    bool constant;
    double epsilon;
} state;

static ons_status *batch_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[1].dtype != ONS_FLOAT32 || o->inputs[2].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->inputs[1].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->constant = ons_attribute_int(o, CONSTANT_STATISTICS) != 0;
    s->epsilon = ons_attribute_float(o, EPSILON);
    return ons_batch_plan_make(p, &o->inputs[1], &s->plan);
}

static void batch_normalization_gradient_run(const ons_launch *launch) {
    const state *st = launch->state;
    const ons_batch_plan *plan = &st->plan;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *scale = launch->inputs[2], *mean = launch->inputs[3],
                *second = launch->inputs[4];
    float *dx = launch->outputs[DX], *dscale = launch->outputs[DSCALE], *dbias = launch->outputs[DBIAS];
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    double n = (double)plan->size.batch * (double)plan->size.positions;
    bool sums = !st->constant || dscale != NULL || dbias != NULL;
    for (int64_t c = 0; c < plan->size.channels; ++c) s.shift[c] = mean[c];
    ons_batch_repeat(plan, s.shift);
    if (sums) ons_batch_sum_products(plan, &s, dy, x);
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        double inverse = st->constant ? 1 / sqrt(second[c] + st->epsilon) : second[c];
        double slope = scale[c] * inverse;
        s.scale[c] = (float)slope;
        if (!sums) continue;
        s.factor[c] = (float)(-slope * inverse * inverse * s.sums[1][c] / n);
        s.rest[c] = (float)(-slope * s.sums[0][c] / n);
        if (dscale != NULL) dscale[c] = (float)(s.sums[1][c] * inverse);
        if (dbias != NULL) dbias[c] = (float)s.sums[0][c];
    }
    if (dx == NULL) return;
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.factor);
    ons_batch_repeat(plan, s.rest);
    ons_batch_differentiate(plan, &s, dy, st->constant ? NULL : x, dx);
}

ONS_KERNELS(cpu, batch_normalization_gradient,
            ONS_KERNEL(batch_normalization_gradient_prepare, batch_normalization_gradient_run))
