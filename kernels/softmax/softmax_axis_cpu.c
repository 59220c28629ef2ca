/* What the CPU runs of softmax_axis.h. */
#include "kernels/softmax/softmax_axis.h"

ons_status *ons_softmax_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *state;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_axis_view), &state));
    *(ons_axis_view *)state = ons_softmax_view(o);
    return NULL;
}
