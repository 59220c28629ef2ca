/* What the CPU runs of argminmax.h. */
#include "kernels/argminmax/argminmax.h"

ons_status *ons_argminmax_prepare(ons_prepare *p) {
    if (p->operands->inputs[0].dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(p->operands->inputs[0].dtype));
    ons_argminmax *state;
    ONS_NEW_STATE(state, p);
    *state = ons_argminmax_make_state(p->operands);
    return NULL;
}
