/* What the CPU runs of batch_training.h. */
#include "kernels/common/batch_training.h"

#include <math.h>

ons_status *ons_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased) {
    const ons_operands *o = p->operands;
    for (uint32_t i = 0; i < 5; ++i)
        if (o->inputs[i].dtype != ONS_FLOAT32)
            return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                                  ons_dtype_name(o->inputs[i].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_batch_training), &memory));
    ons_batch_training *state = memory;
    ONS_TRY(ons_batch_plan_make(p, &o->inputs[0], &state->plan));
    state->epsilon = epsilon;
    state->momentum = momentum;
    state->correction = ons_batch_training_correction_of(&state->plan.size, unbiased);
    return NULL;
}

/* The first value of each channel: subtracted from all others, it keeps the sum of squares small where the mean is
 * large. */
static void take_first(const ons_batch_plan *plan, const float *x, float *shift) {
    int64_t step = plan->size.last ? 1 : plan->size.positions;
    for (int64_t c = 0; c < plan->size.channels; ++c) shift[c] = x[c * step];
    ons_batch_repeat(plan, shift);
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
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        double offset = s.sums[0][c] / n, mean = s.shift[c] + offset;
        double variance = fmax(s.sums[1][c] / n - offset * offset, 0);
        double inverse = 1 / sqrt(variance + state->epsilon);
        s.shift[c] = (float)mean;
        s.scale[c] = (float)(scale[c] * inverse);
        s.rest[c] = bias[c];
        if (results->saved_mean != NULL) results->saved_mean[c] = (float)mean;
        if (results->saved_inverse != NULL) results->saved_inverse[c] = (float)inverse;
        if (results->mean != NULL) results->mean[c] = (float)(keep * mean_before[c] + (1 - keep) * mean);
        if (results->variance != NULL)
            results->variance[c] = (float)(keep * variance_before[c] + (1 - keep) * variance * state->correction);
    }
    ons_batch_repeat(plan, s.shift);
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.rest);
    if (launch->outputs[0] != NULL) ons_batch_normalize(plan, &s, x, launch->outputs[0]);
}
