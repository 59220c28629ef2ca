#include "kernels/common/batch_training.h"

#include <math.h>

ons_status *ons_batch_infer(ons_operands *o) {
    const ons_type *x = &o->inputs[0];
    if (x->shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "normalisation of %s is not supported", ons_dtype_name(x->dtype));
    for (uint32_t i = 1; i < 5; ++i) {
        const ons_shape *vector = &o->inputs[i].shape;
        if (!ons_dtype_is_float(o->inputs[i].dtype))
            return ons_node_error(o, "input %u is %s, not floats", i, ons_dtype_name(o->inputs[i].dtype));
        if (vector->rank != 1 || vector->dims[0] != x->shape.dims[1])
            return ons_node_error(o, "input %u must be a vector of %lld, one for each channel", i,
                                  (long long)x->shape.dims[1]);
    }
    if (o->inputs[1].dtype != o->inputs[2].dtype || o->inputs[3].dtype != o->inputs[4].dtype)
        return ons_node_error(o, "scale and bias, mean and variance must be of one element type each");
    o->outputs[0] = ons_type_make(x->dtype, x->shape);
    for (uint32_t i = 1; i < o->output_count; ++i)
        o->outputs[i] = ons_type_make(o->inputs[3].dtype, o->inputs[3].shape);
    return NULL;
}

/* n / (n − 1), as PyTorch corrects the variance that it keeps; a single value has nothing to correct. */
static double correction_of(const ons_channels *c, bool unbiased) {
    double n = (double)c->batch * (double)c->positions;
    return unbiased && n > 1 ? n / (n - 1) : 1;
}

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
    state->correction = correction_of(&state->plan.size, unbiased);
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

void ons_batch_training_reference(const ons_operands *o, double epsilon, double momentum, bool unbiased,
                                  const void *const *inputs, double *y, double *new_mean, double *new_variance,
                                  double *saved_mean, double *saved_inverse) {
    ons_channels size = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0], *scale = inputs[1], *bias = inputs[2], *mean_before = inputs[3],
                 *variance_before = inputs[4];
    double n = (double)size.batch * (double)size.positions;
    for (int64_t c = 0; c < size.channels; ++c) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < size.batch * size.positions; ++i)
            mean += x[(i / size.positions * size.channels + c) * size.positions + i % size.positions] / n;
        for (int64_t i = 0; i < size.batch * size.positions; ++i) {
            double d = x[(i / size.positions * size.channels + c) * size.positions + i % size.positions] - mean;
            variance += d * d / n;
        }
        double inverse = 1 / sqrt(variance + epsilon);
        for (int64_t i = 0; i < size.batch * size.positions; ++i) {
            int64_t at = (i / size.positions * size.channels + c) * size.positions + i % size.positions;
            y[at] = (x[at] - mean) * inverse * scale[c] + bias[c];
        }
        if (new_mean != NULL) new_mean[c] = n == 0 ? mean_before[c] : momentum * mean_before[c] + (1 - momentum) * mean;
        if (new_variance != NULL)
            new_variance[c] =
                n == 0 ? variance_before[c]
                       : momentum * variance_before[c] + (1 - momentum) * variance * correction_of(&size, unbiased);
        if (saved_mean != NULL) saved_mean[c] = mean;
        if (saved_inverse != NULL) saved_inverse[c] = inverse;
    }
}
