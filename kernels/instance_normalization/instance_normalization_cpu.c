/* InstanceNormalization on the CPU. */
#include "kernels/instance_normalization/instance_normalization.h"

#include "kernels/normalization/group_norm.h"

static ons_status *instance_normalization_prepare(ons_prepare *p) {
    ons_group_norm norm;
    ons_resolved(find_norm(p->operands, &norm));
    return ons_group_norm_prepare(p, &norm, ons_attribute_float(p->operands, EPSILON));
}

ONS_KERNELS(cpu, instance_normalization, ONS_KERNEL(instance_normalization_prepare, ons_group_norm_run))
