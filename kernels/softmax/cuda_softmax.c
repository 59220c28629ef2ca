#include "kernels/softmax/cuda_softmax.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

ons_status *ons_cuda_softmax_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_rows *rows;
    ONS_NEW_STATE(rows, p);
    rows->view = ons_softmax_view(o);
    rows->dtype = o->inputs[0].dtype;
    p->implementation = "cuda:rows";
    return NULL;
}
