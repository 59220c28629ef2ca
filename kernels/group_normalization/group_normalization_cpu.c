/* GroupNormalization on the CPU. */
#include "kernels/group_normalization/group_normalization.h"

#include "kernels/normalization/group_norm.h"

static ons_status *group_normalization_prepare(ons_prepare *p) {
    ons_group_norm norm;
    ons_resolved(find_norm(p->operands, &norm));
    return ons_group_norm_prepare(p, &norm, ons_attribute_float(p->operands, EPSILON));
}

ONS_KERNELS(cpu, group_normalization, ONS_KERNEL(group_normalization_prepare, ons_group_norm_run))
