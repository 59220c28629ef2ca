/* Expand on the CPU. */
#include "kernels/expand/expand.h"

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/strided.h"

ons_status *ons_expand_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_type *out = &o->outputs[0];
    int64_t from[ONS_RANK_MAX], to[ONS_RANK_MAX];
    find_strides(o, from);
    ons_channels_strides(out, to);
    ons_strided copy = ons_strided_box(out->dtype, &out->shape, out->layout, from, to);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, expand, ONS_KERNEL(ons_expand_prepare, ons_strided_run))
