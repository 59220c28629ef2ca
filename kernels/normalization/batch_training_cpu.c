/* What the CPU runs of batch_training.h. */
#include "kernels/normalization/batch_training.h"

#include <math.h>

ons_status *ons_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased,
                                       int64_t replicas) {
    const ons_operands *o = p->operands;
    for (uint32_t i = 0; i < 5; ++i) ONS_TRY(ons_require_float32_of(o, &o->inputs[i]));
    ons_batch_training *state;
    ONS_NEW_STATE(state, p);
    ONS_TRY(ons_batch_plan_make(p, &o->inputs[0], &state->plan));
    state->epsilon = epsilon;
    state->momentum = momentum;
    state->unbiased = unbiased;
    return ons_batch_shares_plan(p, state->plan.size.channels, replicas, &state->replicas);
}

/* The first value of each channel: subtracted from all others, it keeps the sum of squares small where the mean is
 * large. */
static void take_first(const ons_batch_plan *plan, const float *x, float *shift) {
    int64_t step = plan->size.last ? 1 : plan->size.positions;
    for (int64_t c = 0; c < plan->size.channels; ++c) shift[c] = x[c * step];
    ons_batch_repeat(plan, shift);
}

/* Of a channel's values, whose number is the same for all channels. */
typedef struct moments {
    double mean, variance;
} moments;

static moments moments_here(const ons_batch_scratch *s, int64_t c, double n) {
    double offset = s->sums[0][c] / n;
    return (moments){s->shift[c] + offset, fmax(s->sums[1][c] / n - offset * offset, 0)};
}

/* Of all replicas together, in their order. */
static moments moments_together(const double *all, uint32_t replicas, int64_t channels, int64_t c, double n) {
    int64_t size = ons_batch_share_size(channels);
    moments m = {0, 0};
    for (uint32_t i = 0; i < replicas; ++i) m.mean += all[i * size] * all[i * size + 1 + c] / n;
    for (uint32_t i = 0; i < replicas; ++i) {
        double apart = all[i * size + 1 + c] - m.mean;
        m.variance += all[i * size] * (all[i * size + 1 + channels + c] + apart * apart) / n;
    }
    return m;
}

/* Tells the other replicas of this one's statistics; *n: of all that answer, whose number is returned. */
static uint32_t share_statistics(const ons_launch *launch, const ons_batch_training *state, const ons_batch_scratch *s,
                                 double *shares, double *n) {
    int64_t channels = state->plan.size.channels, size = ons_batch_share_size(channels);
    if (state->replicas == 1 || launch->replicas == NULL) return 0;
    double *own = shares + launch->replicas->own * size;
    own[0] = *n;
    for (int64_t c = 0; c < channels; ++c) {
        moments m = moments_here(s, c, *n);
        own[1 + c] = m.mean;
        own[1 + channels + c] = m.variance;
    }
    uint32_t replicas = launch->replicas->gather(launch->replicas, shares, (size_t)size);
    if (replicas > 0) *n = 0;
    for (uint32_t i = 0; i < replicas; ++i) *n += shares[i * size];
    return replicas;
}

void ons_batch_training_run(const ons_launch *launch, const ons_batch_results *results) {
    const ons_batch_training *state = launch->state;
    const ons_batch_plan *plan = &state->plan;
    const float *x = launch->inputs[0], *scale = launch->inputs[1], *bias = launch->inputs[2];
    const float *mean_before = launch->inputs[3], *variance_before = launch->inputs[4];
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    double n = (double)plan->size.batch * (double)plan->size.positions, keep = state->momentum;
    if (n == 0) return; /* an empty batch changes nothing: outputs 1 and 2 are in the place of the running statistics */
    take_first(plan, x, s.shift);
    ons_batch_sum_squares(plan, &s, x);
    double *shares = ons_batch_shares_of(plan, launch->scratch);
    uint32_t replicas = share_statistics(launch, state, &s, shares, &n);
    double correction = ons_batch_training_correct(n, state->unbiased);
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        moments m =
            replicas > 0 ? moments_together(shares, replicas, plan->size.channels, c, n) : moments_here(&s, c, n);
        double mean = m.mean, variance = m.variance;
        double inverse = 1 / sqrt(variance + state->epsilon);
        s.shift[c] = (float)mean;
        s.scale[c] = (float)(scale[c] * inverse);
        s.rest[c] = bias[c];
        if (results->saved_mean != NULL) results->saved_mean[c] = (float)mean;
        if (results->saved_inverse != NULL) results->saved_inverse[c] = (float)inverse;
        if (results->saved_slope != NULL) results->saved_slope[c] = s.scale[c];
        if (results->mean != NULL) results->mean[c] = (float)(keep * mean_before[c] + (1 - keep) * mean);
        if (results->variance != NULL)
            results->variance[c] = (float)(keep * variance_before[c] + (1 - keep) * variance * correction);
    }
    ons_batch_repeat(plan, s.shift);
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.rest);
    if (launch->outputs[0] != NULL)
        ons_batch_normalize(plan, &s, x, results->residual, results->activation, launch->outputs[0]);
}
