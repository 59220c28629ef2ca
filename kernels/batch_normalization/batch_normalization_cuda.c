/* BatchNormalization on CUDA: what the host works out. */
#include "kernels/batch_normalization/batch_normalization.h"

#include "kernels/normalization/cuda_batch.h"

extern ons_run_function ons_cuda_run_batch_normalization;

static ons_status *batch_normalization_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_batch *s;
    if (ons_has_output(o, 3) || ons_has_output(o, 4) ||
        (!is_training(o) && (ons_has_output(o, 1) || ons_has_output(o, 2))))
        return ons_node_error(o, "statistics of the batch beyond the running ones are not computed");
    ONS_TRY(ons_cuda_batch_training_prepare(p, ons_attribute_float(o, EPSILON), ons_attribute_float(o, MOMENTUM), false,
                                            &s));
    s->training = is_training(o);
    return NULL;
}

ONS_KERNELS(cuda, batch_normalization, ONS_KERNEL(batch_normalization_prepare_cuda, ons_cuda_run_batch_normalization))
