#include "kernels/normalization/batch_training.h"

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

ons_status *ons_batch_shares_plan(ons_prepare *p, int64_t channels, int64_t replicas, uint32_t *most) {
    enum { LINE = 64 };
    ONS_CHECK(replicas >= 1 && replicas < UINT16_MAX, ONS_INVALID_ARGUMENT,
              "node '%s': statistics of %lld replicas are not possible", p->operands->name, (long long)replicas);
    *most = (uint32_t)replicas;
    int64_t bytes = replicas * ons_batch_share_size(channels) * (int64_t)sizeof(double);
    if (replicas > 1) p->scratch_bytes += (bytes + LINE - 1) / LINE * LINE;
    return NULL;
}

void ons_batch_training_reference(const ons_operands *o, double epsilon, double momentum, bool unbiased,
                                  const void *const *inputs, double *const made[ONS_AT_LEAST(ONS_BATCH_MADE)]) {
    double *y = made[0], *new_mean = made[1], *new_variance = made[2], *saved_mean = made[3], *saved_inverse = made[4],
           *saved_slope = made[5];
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
            new_variance[c] = n == 0
                                  ? variance_before[c]
                                  : momentum * variance_before[c] +
                                        (1 - momentum) * variance * ons_batch_training_correction_of(&size, unbiased);
        if (saved_mean != NULL) saved_mean[c] = mean;
        if (saved_inverse != NULL) saved_inverse[c] = inverse;
        if (saved_slope != NULL) saved_slope[c] = scale[c] * inverse;
    }
}
