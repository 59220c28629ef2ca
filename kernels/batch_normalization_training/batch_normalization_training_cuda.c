/* BatchNormalizationTraining on CUDA: what the host works out. */
#include "kernels/batch_normalization_training/batch_normalization_training.h"

#include "kernels/normalization/cuda_batch.h"

extern ons_run_function ons_cuda_run_batch_normalization_training;

static ons_status *batch_normalization_training_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_batch *s;
    ONS_TRY(ons_cuda_batch_training_prepare(p, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM),
                                            ons_attribute_int(o, UNBIASED) != 0, &s));
    s->activation = ons_batch_activation_of(o, ACTIVATION);
    s->added = ons_has_input(o, RESIDUAL);
    s->sloped = ons_has_output(o, SAVED_SLOPE);
    return ons_cuda_batch_share(p, ons_attribute_int(o, REPLICAS), s);
}

ONS_KERNELS(cuda, batch_normalization_training,
            ONS_KERNEL(batch_normalization_training_prepare_cuda, ons_cuda_run_batch_normalization_training))
