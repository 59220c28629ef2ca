/* Expand on the CPU. */
#include "kernels/expand/expand.h"

#include "kernels/common/layout/strided.h"

ons_status *ons_expand_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_strided copy = ons_strided_dense(o->outputs[0].dtype, &o->outputs[0].shape);
    find_strides(o, copy.from);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, expand, ONS_KERNEL(ons_expand_prepare, ons_strided_run))
