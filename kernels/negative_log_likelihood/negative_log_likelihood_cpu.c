/* NegativeLogLikelihood on the CPU. */
#include "kernels/losses/class_loss.h"

/* One element a target: not worth a thread. */
static void negative_log_likelihood_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *x = launch->inputs[0];
    const void *targets = launch->inputs[1];
    int64_t length = loss->view.length, inner = loss->view.inner;
    const float *weights = loss->weights == ONS_NONE ? NULL : launch->inputs[loss->weights];
    double sum = 0;
    ons_class_loss_check(loss, targets, launch->fault);
    for (int64_t i = 0; i < loss->view.outer * inner; ++i) {
        int64_t class = ons_class_at(loss, targets, i);
        if (class < 0) continue;
        sum -= (double)ons_class_weight(weights, class) * (double)x[(i / inner * length + class) * inner + i % inner];
    }
    *(float *)launch->outputs[0] = (float)(sum / launch->step->counted_targets);
}

ONS_KERNELS(cpu, negative_log_likelihood, ONS_KERNEL(ons_class_loss_prepare, negative_log_likelihood_run))
