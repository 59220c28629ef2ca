/* SliceGradient on the CPU. */
#include "kernels/slice/slicing.h"

typedef ons_slice_gradient state;

ons_status *ons_slice_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_slicing slicing;
    ons_resolved(ons_slicing_of(o, &o->outputs[0].shape, &slicing));
    state *s;
    ONS_NEW_STATE(s, p);
    s->copy = ons_slicing_copy(&slicing, o->inputs[0].dtype, &o->outputs[0].shape, true);
    s->bytes = ons_type_dense_bytes(&o->outputs[0]);
    s->covers = ons_elements(&o->inputs[0]) == ons_elements(&o->outputs[0]);
    return NULL;
}

static void slice_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    char *out = launch->outputs[0];
    enum { PIECE = 64 * 1024 };
    int64_t bytes = s->covers ? 0 : s->bytes;
#pragma omp parallel for schedule(static) if (bytes > PIECE)
    for (int64_t at = 0; at < bytes; at += PIECE)
        memset(out + at, 0, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
    ons_strided_copy(&s->copy, launch->inputs[0], out);
}

ONS_KERNELS(cpu, slice_gradient, ONS_KERNEL(ons_slice_gradient_prepare, slice_gradient_run))
