#include "kernels/accumulate/cuda_accumulate.h"

ons_status *ons_cuda_accumulate_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_alike(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_accumulation *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_cuda_accumulation){o->inputs[0].dtype, o->inputs[1].dtype, ons_elements(&o->inputs[0])};
    p->implementation = "cuda:flat";
    return NULL;
}
