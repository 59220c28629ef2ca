/* What the CPU runs of argminmax.h. */
#include "kernels/argminmax/argminmax.h"

ons_status *ons_argminmax_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_argminmax *state;
    ONS_NEW_STATE(state, p);
    *state = ons_argminmax_make_state(p->operands);
    return NULL;
}
