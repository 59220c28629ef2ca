/* Slice on the CPU. */
#include "kernels/slice/slicing.h"

ons_status *ons_slice_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_slicing slicing;
    ons_resolved(ons_slicing_of(o, &o->inputs[0].shape, &slicing));
    ons_strided copy = ons_slicing_copy(&slicing, &o->inputs[0], false);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, slice, ONS_KERNEL(ons_slice_prepare, ons_strided_run))
