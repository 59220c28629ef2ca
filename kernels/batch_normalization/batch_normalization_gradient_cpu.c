/* BatchNormalizationGradient on the CPU. */
#include "kernels/batch_normalization/batch_normalization_gradient.h"

#include <math.h>

#include "kernels/normalization/batch_training.h"

typedef struct state {
    ons_batch_plan plan;
    bool constant;
    ons_batch_activation activation;
    double epsilon;
    uint32_t replicas;
} state;

static ons_status *batch_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[1].dtype != ONS_FLOAT32 || o->inputs[2].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->inputs[1].dtype));
    state *s;
    ONS_NEW_STATE(s, p);
    s->constant = ons_attribute_int(o, CONSTANT_STATISTICS) != 0;
    if (ons_has_input(o, GATE_REST)) s->activation = ons_batch_activation_of(o, ACTIVATION);
    s->epsilon = ons_attribute_float(o, EPSILON);
    ONS_TRY(ons_batch_plan_make(p, &o->inputs[1], &s->plan));
    return ons_batch_shares_plan(p, s->plan.size.channels, ons_attribute_int(o, REPLICAS), &s->replicas);
}

/* Makes the sums, and their number *n, those of all replicas. */
static void sum_over_replicas(const ons_launch *launch, const state *st, const ons_batch_scratch *s, double *n) {
    int64_t channels = st->plan.size.channels, size = ons_batch_share_size(channels);
    double *shares = ons_batch_shares_of(&st->plan, launch->scratch);
    if (st->replicas == 1 || launch->replicas == NULL) return;
    double *own = shares + launch->replicas->own * size;
    own[0] = *n;
    for (int which = 0; which < 2; ++which)
        for (int64_t c = 0; c < channels; ++c) own[1 + which * channels + c] = s->sums[which][c];
    uint32_t replicas = launch->replicas->gather(launch->replicas, shares, (size_t)size);
    if (replicas == 0) return;
    *n = 0;
    for (uint32_t i = 0; i < replicas; ++i) *n += shares[i * size];
    for (int which = 0; which < 2; ++which)
        for (int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (uint32_t i = 0; i < replicas; ++i) sum += shares[i * size + 1 + which * channels + c];
            s->sums[which][c] = sum;
        }
}

static double inverse_of(const state *st, const float *second, int64_t c) {
    return st->constant ? 1 / sqrt(second[c] + st->epsilon) : second[c];
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
    const float *gate_rest = NULL, *gate_scale = NULL;
    if (st->activation.kind != ONS_BATCH_PLAIN)
        gate_rest = launch->inputs[GATE_REST], gate_scale = launch->inputs[GATE_SCALE];
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        s.shift[c] = mean[c];
        s.scale[c] = (float)(scale[c] * inverse_of(st, second, c));
        s.gate_scale[c] = gate_scale != NULL ? gate_scale[c] : 0;
        s.gate_rest[c] = gate_rest != NULL ? gate_rest[c] : 0;
    }
    ons_batch_repeat(plan, s.shift);
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.gate_scale);
    ons_batch_repeat(plan, s.gate_rest);
    if (sums) ons_batch_sum_products(plan, &s, dy, x, st->activation);
    for (int64_t c = 0; c < plan->size.channels && sums; ++c) {
        if (dscale != NULL) dscale[c] = (float)(s.sums[1][c] * inverse_of(st, second, c));
        if (dbias != NULL) dbias[c] = (float)s.sums[0][c];
    }
    sum_over_replicas(launch, st, &s, &n);
    for (int64_t c = 0; c < plan->size.channels && sums; ++c) {
        double inverse = inverse_of(st, second, c), slope = scale[c] * inverse;
        s.factor[c] = (float)(-slope * inverse * inverse * s.sums[1][c] / n);
        s.rest[c] = (float)(-slope * s.sums[0][c] / n);
    }
    if (dx == NULL) return;
    ons_batch_repeat(plan, s.factor);
    ons_batch_repeat(plan, s.rest);
    ons_batch_differentiate(plan, &s, dy, st->constant ? NULL : x, st->activation, dx);
}

ONS_KERNELS(cpu, batch_normalization_gradient,
            ONS_KERNEL(batch_normalization_gradient_prepare, batch_normalization_gradient_run))
