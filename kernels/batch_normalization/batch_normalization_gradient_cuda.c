/* BatchNormalizationGradient on CUDA: what the host works out. */
#include "kernels/batch_normalization/batch_normalization_gradient.h"

#include "kernels/normalization/cuda_batch.h"

extern ons_run_function ons_cuda_run_batch_normalization_gradient;

static ons_status *batch_normalization_gradient_prepare_cuda(ons_prepare *p) {
    ons_cuda_batch *s;
    ONS_TRY(ons_cuda_batch_prepare(p, &p->operands->inputs[1], &s));
    s->constant = ons_attribute_int(p->operands, CONSTANT_STATISTICS) != 0;
    s->epsilon = ons_attribute_float(p->operands, EPSILON);
    if (ons_has_input(p->operands, GATE_REST)) s->activation = ons_batch_activation_of(p->operands, ACTIVATION);
    return s->constant ? NULL : ons_cuda_batch_share(p, ons_attribute_int(p->operands, REPLICAS), s);
}

ONS_KERNELS(cuda, batch_normalization_gradient,
            ONS_KERNEL(batch_normalization_gradient_prepare_cuda, ons_cuda_run_batch_normalization_gradient))
