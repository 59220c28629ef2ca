/* CrossEntropyGradient on the CPU. */
#include "kernels/losses/class_loss.h"

static void cross_entropy_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *log_sum = launch->inputs[2];
    const ons_class_slopes slopes = {
        .loss = loss,
        .shares = ons_class_shares_of(loss, launch->inputs),
        .x = launch->inputs[0],
        .targets = launch->inputs[1],
        .scale = (float)(*(const float *)launch->inputs[3] / launch->step->counted_targets),
        .dx = launch->outputs[0],
    };
    bool rows = loss->view.inner == 1;
    int64_t items = ons_class_loss_items(loss), size = loss->view.length * (rows ? 1 : ONS_COLUMNS);
#pragma omp parallel for schedule(static) if (items * size > ONS_PARALLEL_GRAIN)
    for (int64_t item = 0; item < items; ++item) {
        if (rows) {
            ons_class_slopes_row(&slopes, item, log_sum[item]);
        } else {
            ons_column_block at = ons_column_block_at(&loss->view, item);
            ons_class_slopes_block(&slopes, &at, log_sum + at.column);
        }
    }
}

ONS_KERNELS(cpu, cross_entropy_gradient, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_gradient_run))
