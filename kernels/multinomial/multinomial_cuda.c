/* Multinomial on CUDA: what the host works out. */
#include "kernels/multinomial/multinomial_node.h"

static ons_status *multinomial_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_multinomial *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_multinomial){o->inputs[0].shape.dims[0],  o->inputs[0].shape.dims[1],
                               o->outputs[0].shape.dims[1], p->node_key,
                               o->attributes[SEED],         o->outputs[0].dtype == ONS_INT64};
    return NULL;
}

ONS_CUDA_KERNEL(multinomial, multinomial_prepare_cuda)
