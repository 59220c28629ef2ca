/* CrossEntropyShardGradient on the CPU. */
#include "kernels/losses/class_loss.h"

static void cross_entropy_shard_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *of_part = launch->inputs[3];
    const ons_class_slopes slopes = {
        .loss = loss,
        .shares = ons_class_shares_of(loss, launch->inputs),
        .x = launch->inputs[0],
        .targets = launch->inputs[1],
        .scale = of_part == NULL ? 0 : (float)(*of_part / launch->step->counted_targets),
        .dx = launch->outputs[0],
        .shard = true,
        .of_log_sums = launch->inputs[4],
    };
    ons_class_slopes_all(&slopes, launch->inputs[2]);
}

ONS_KERNELS(cpu, cross_entropy_shard_gradient, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_shard_gradient_run))
