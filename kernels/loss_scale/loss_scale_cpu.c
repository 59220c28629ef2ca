/* LossScale on the CPU. */
#include "kernels/loss_scale/loss_scale_node.h"

#include "kernels/common/operator/kernel.h"

typedef struct loss_scale_state {
    uint32_t inputs;
    ons_loss_scaling how;
} loss_scale_state;

static ons_status *loss_scale_prepare(ons_prepare *p) {
    loss_scale_state *state;
    ONS_NEW_STATE(state, p);
    *state = (loss_scale_state){
        p->operands->input_count,
        {ons_attribute_float(p->operands, MAX_NORM), ons_attribute_float(p->operands, INTERVAL)},
    };
    return NULL;
}

static void loss_scale_run(const ons_launch *launch) {
    const loss_scale_state *state = launch->state;
    const float *counts = launch->inputs[COUNTS_IN];
    float scale = *(const float *)launch->inputs[SCALE_IN], skipped = counts[1];
    double sum = 0;
    for (uint32_t i = SQUARES_IN; i < state->inputs; ++i) sum += *(const double *)launch->inputs[i];
    ons_scaled_step r = ons_scale_step(state->how, scale, counts[0], skipped, sum);
    float *const *outputs = (float *const *)launch->outputs;
    *outputs[SCALE] = (float)r.scale;
    outputs[COUNTS][0] = (float)r.good, outputs[COUNTS][1] = (float)r.skipped;
    if (outputs[NORM] != NULL) *outputs[NORM] = (float)r.norm;
    if (outputs[FACTOR] != NULL) outputs[FACTOR][0] = (float)r.factor, outputs[FACTOR][1] = skipped;
    if (outputs[USED] != NULL) *outputs[USED] = scale;
}

ONS_KERNELS(cpu, loss_scale, ONS_KERNEL(loss_scale_prepare, loss_scale_run))
