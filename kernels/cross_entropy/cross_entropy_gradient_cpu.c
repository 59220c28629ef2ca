/* CrossEntropyGradient on the CPU. */
#include "kernels/losses/class_loss.h"

static void cross_entropy_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const ons_class_slopes slopes = {
        .loss = loss,
        .shares = ons_class_shares_of(loss, launch->inputs),
        .x = launch->inputs[0],
        .targets = launch->inputs[1],
        .scale = (float)(*(const float *)launch->inputs[3] / launch->step->counted_targets),
        .dx = launch->outputs[0],
    };
    ons_class_slopes_all(&slopes, launch->inputs[2]);
}

ONS_KERNELS(cpu, cross_entropy_gradient, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_gradient_run))
