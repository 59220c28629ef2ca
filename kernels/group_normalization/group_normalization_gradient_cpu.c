/* GroupNormalizationGradient on the CPU. */
#include "kernels/group_normalization/group_normalization_gradient.h"

#include "kernels/normalization/group_norm.h"

static ons_status *group_normalization_gradient_prepare(ons_prepare *p) {
    ons_group_norm norm;
    ons_resolved(find_norm(p->operands, &norm));
    return ons_group_norm_prepare_gradient(p, &norm);
}

ONS_KERNELS(cpu, group_normalization_gradient,
            ONS_KERNEL(group_normalization_gradient_prepare, ons_group_norm_run_gradient))
