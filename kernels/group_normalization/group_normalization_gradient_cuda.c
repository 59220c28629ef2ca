/* GroupNormalizationGradient on CUDA: what the host works out. */
#include "kernels/group_normalization/group_normalization_gradient.h"

#include "kernels/normalization/cuda_batch.h"
#include "kernels/normalization/group_norm.h"

static ons_status *group_normalization_gradient_prepare_cuda(ons_prepare *p) {
    ons_group_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_cuda_group_prepare(p, &p->operands->inputs[1], &norm, 0);
}

ONS_CUDA_KERNEL(group_normalization_gradient, group_normalization_gradient_prepare_cuda)
