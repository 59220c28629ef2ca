/* Pad on CUDA: what the host works out. */
#include "kernels/pad/pad_node.h"

#include "graph/evaluate.h"
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/pad/padding.h"

static ons_status *pad_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ons_pad *s;
    ONS_NEW_STATE(s, p);
    uint64_t word = own_value(o);
    ons_narrow(o->outputs[0].dtype, &word, 1, &s->value);
    s->elements = ons_elements(&o->outputs[0]);
    s->has_value = ons_has_input(o, ONS_PADDING_VALUE);
    s->size = ons_dtype_size(o->outputs[0].dtype);
    return ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &s->padding);
}

ONS_CUDA_KERNEL(pad, pad_prepare_cuda)
