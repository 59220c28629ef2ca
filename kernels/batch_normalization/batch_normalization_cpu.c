/* BatchNormalization on the CPU. */
#include "kernels/batch_normalization/batch_normalization.h"

#include <math.h>

#include "kernels/normalization/batch_training.h"

static ons_status *batch_normalization_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (ons_has_output(o, 3) || ons_has_output(o, 4) ||
        (!is_training(o) && (ons_has_output(o, 1) || ons_has_output(o, 2))))
        return ons_node_error(o, "statistics of the batch beyond the running ones are not computed");
    ONS_TRY(ons_batch_training_prepare(p, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM), false, 1));
    ((ons_batch_training *)p->state)->training = is_training(o);
    return NULL;
}

static void normalize(const ons_launch *launch) {
    const ons_batch_training *state = launch->state;
    const ons_batch_plan *plan = &state->plan;
    const float *scale = launch->inputs[1], *bias = launch->inputs[2], *mean = launch->inputs[3],
                *variance = launch->inputs[4];
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        s.shift[c] = mean[c];
        s.scale[c] = (float)(scale[c] / sqrt(variance[c] + state->epsilon));
        s.rest[c] = bias[c];
    }
    ons_batch_repeat(plan, s.shift);
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.rest);
    ons_batch_normalize(plan, &s, launch->inputs[0], NULL, (ons_batch_activation){.kind = ONS_BATCH_PLAIN},
                        launch->outputs[0]);
}

static void batch_normalization_run(const ons_launch *launch) {
    const ons_batch_training *state = launch->state;
    if (state->training)
        ons_batch_training_run(launch,
                               &(ons_batch_results){.mean = launch->outputs[1], .variance = launch->outputs[2]});
    else
        normalize(launch);
}

ONS_KERNELS(cpu, batch_normalization, ONS_KERNEL(batch_normalization_prepare, batch_normalization_run))
