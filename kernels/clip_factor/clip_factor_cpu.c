/* ClipFactor on the CPU. */
#include "kernels/clip_factor/clip_factor.h"

#include <math.h>

#include "kernels/common/operator/kernel.h"

typedef struct clip_factor_state {
    uint32_t count;
    double max_norm;
} clip_factor_state;

static ons_status *clip_factor_prepare(ons_prepare *p) {
    clip_factor_state *state;
    ONS_NEW_STATE(state, p);
    *state = (clip_factor_state){p->operands->input_count, ons_attribute_float(p->operands, 0)};
    return NULL;
}

static void clip_factor_run(const ons_launch *launch) {
    const clip_factor_state *state = launch->state;
    double sum = 0;
    for (uint32_t i = 0; i < state->count; ++i) sum += *(const double *)launch->inputs[i];
    if (launch->outputs[0] != NULL) *(float *)launch->outputs[0] = (float)sqrt(sum);
    if (launch->outputs[1] != NULL)
        *(float *)launch->outputs[1] = (float)ons_clip_factor_of(sqrt(sum), state->max_norm);
}

ONS_KERNELS(cpu, clip_factor, ONS_KERNEL(clip_factor_prepare, clip_factor_run))
