/* BatchNormalizationTraining on the CPU. */
#include "kernels/batch_normalization_training/batch_normalization_training.h"

#include "kernels/normalization/batch_training.h"

static ons_status *batch_normalization_training_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_batch_training_prepare(p, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM),
                                       ons_attribute_int(o, UNBIASED) != 0, ons_attribute_int(o, REPLICAS)));
    ons_batch_training *state = p->state;
    state->activation = ons_batch_activation_of(o, ACTIVATION);
    state->added = ons_has_input(o, RESIDUAL);
    state->sloped = ons_has_output(o, SAVED_SLOPE);
    return NULL;
}

static void batch_normalization_training_run(const ons_launch *launch) {
    const ons_batch_training *state = launch->state;
    ons_batch_training_run(launch,
                           &(ons_batch_results){.mean = launch->outputs[MEAN],
                                                .variance = launch->outputs[VARIANCE],
                                                .saved_mean = launch->outputs[SAVED_MEAN],
                                                .saved_inverse = launch->outputs[SAVED_INVERSE],
                                                .saved_slope = state->sloped ? launch->outputs[SAVED_SLOPE] : NULL,
                                                .residual = state->added ? launch->inputs[RESIDUAL] : NULL,
                                                .activation = state->activation});
}

ONS_KERNELS(cpu, batch_normalization_training,
            ONS_KERNEL(batch_normalization_training_prepare, batch_normalization_training_run))
