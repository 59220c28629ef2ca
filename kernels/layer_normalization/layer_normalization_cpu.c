/* LayerNormalization on the CPU. */
#include "kernels/layer_normalization/layer_normalization.h"

#include "kernels/normalization/norm_rows.h"

typedef struct layer_normalization_state {
    ons_layer_norm norm;
    float epsilon;
    bool has_bias;
} layer_normalization_state;

static ons_status *layer_normalization_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    layer_normalization_state *state;
    ONS_NEW_STATE(state, p);
    state->epsilon = (float)ons_attribute_float(o, EPSILON);
    state->has_bias = ons_has_input(o, 2);
    return find_norm(o, &state->norm);
}

static void layer_normalization_run(const ons_launch *launch) {
    const layer_normalization_state *state = launch->state;
    const float *x = launch->inputs[0], *scale = launch->inputs[1];
    const float *bias = state->has_bias ? launch->inputs[2] : NULL;
    float *y = launch->outputs[0], *means = launch->outputs[1], *deviations = launch->outputs[2];
    ons_normalize_rows(&state->norm, state->epsilon, true, x, scale, bias, y, means, deviations);
}

ONS_KERNELS(cpu, layer_normalization, ONS_KERNEL(layer_normalization_prepare, layer_normalization_run))
