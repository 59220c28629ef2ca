/* BatchNormalizationTraining on the CPU. */
#include "kernels/batch_normalization_training/batch_normalization_training.h"

#include "kernels/normalization/batch_training.h"

static ons_status *batch_normalization_training_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    return ons_batch_training_prepare(p, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM),
                                      ons_attribute_int(o, UNBIASED) != 0, ons_attribute_int(o, REPLICAS));
}

static void batch_normalization_training_run(const ons_launch *launch) {
    ons_batch_training_run(launch, &(ons_batch_results){.mean = launch->outputs[MEAN],
                                                        .variance = launch->outputs[VARIANCE],
                                                        .saved_mean = launch->outputs[SAVED_MEAN],
                                                        .saved_inverse = launch->outputs[SAVED_INVERSE]});
}

ONS_KERNELS(cpu, batch_normalization_training,
            ONS_KERNEL(batch_normalization_training_prepare, batch_normalization_training_run))
