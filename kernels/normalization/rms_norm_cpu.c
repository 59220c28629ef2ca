/* What the CPU runs of rms_norm.h. */
#include "kernels/normalization/rms_norm.h"

typedef struct rms_norm_state {
    ons_layer_norm norm;
    float epsilon;
} rms_norm_state;

ons_status *ons_rms_norm_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    rms_norm_state *state;
    ONS_NEW_STATE(state, p);
    state->epsilon = (float)ons_attribute_float(o, ONS_RMS_EPSILON);
    return ons_rms_norm_find_norm(o, &state->norm);
}

void ons_rms_norm_run(const ons_launch *launch) {
    const rms_norm_state *state = launch->state;
    ons_normalize_rows(&state->norm, state->epsilon, false, launch->inputs[0], launch->inputs[1], NULL,
                       launch->outputs[0], NULL, launch->outputs[1]);
}
