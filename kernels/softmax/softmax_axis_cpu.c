/* What the CPU runs of softmax_axis.h. */
#include "kernels/softmax/softmax_axis.h"

ons_status *ons_softmax_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_axis_view *state;
    ONS_NEW_STATE(state, p);
    *state = ons_softmax_view(o);
    return NULL;
}
