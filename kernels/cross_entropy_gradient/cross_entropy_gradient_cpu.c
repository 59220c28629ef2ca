/* CrossEntropyGradient on the CPU. */
#include "kernels/common/class_loss.h"

static void cross_entropy_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *x = launch->inputs[0], *log_sum = launch->inputs[2];
    const void *targets = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = (float)(*(const float *)launch->inputs[3] / launch->step->counted_targets);
    bool rows = loss->view.inner == 1;
    int64_t items = ons_class_loss_items(loss), size = loss->view.length * (rows ? 1 : ONS_COLUMNS);
#pragma omp parallel for schedule(static) if (items * size > ONS_PARALLEL_GRAIN)
    for (int64_t item = 0; item < items; ++item) {
        if (rows) {
            ons_class_slopes_row(loss, item, x, targets, log_sum[item], scale, dx);
        } else {
            ons_column_block at = ons_column_block_at(&loss->view, item);
            ons_class_slopes_block(loss, &at, x, targets, log_sum + at.column, scale, dx);
        }
    }
}

ONS_KERNELS(cpu, cross_entropy_gradient, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_gradient_run))
