/* NegativeLogLikelihoodGradient on the CPU. */
#include <string.h>

#include "kernels/losses/class_loss.h"

static void negative_log_likelihood_gradient_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const float *weights = loss->weights == ONS_NONE ? NULL : launch->inputs[loss->weights];
    const void *targets = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = (float)(*(const float *)launch->inputs[2] / launch->step->counted_targets);
    int64_t outer = loss->view.outer, length = loss->view.length, inner = loss->view.inner, size = length * inner;
#pragma omp parallel for schedule(static) if (outer * size > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < outer; ++i) {
        memset(dx + i * size, 0, (size_t)size * sizeof *dx);
        for (int64_t c = 0; c < inner; ++c) {
            int64_t class = ons_class_at(loss, targets, i * inner + c);
            if (class >= 0) dx[i * size + class * inner + c] = -scale * ons_class_weight(weights, class);
        }
    }
}

ONS_KERNELS(cpu, negative_log_likelihood_gradient,
            ONS_KERNEL(ons_class_loss_prepare, negative_log_likelihood_gradient_run))
