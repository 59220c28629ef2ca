/* InstanceNormalization on CUDA: what the host works out. */
#include "kernels/instance_normalization/instance_normalization.h"

#include "kernels/normalization/cuda_batch.h"
#include "kernels/normalization/group_norm.h"

static ons_status *instance_normalization_prepare_cuda(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_cuda_group_prepare(p, &p->operands->inputs[0], &norm, ons_attribute_float(p->operands, EPSILON));
}

ONS_CUDA_KERNEL(instance_normalization, instance_normalization_prepare_cuda)
