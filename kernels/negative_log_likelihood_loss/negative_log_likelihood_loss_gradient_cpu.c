/* NegativeLogLikelihoodLossGradient on the CPU. */
#include "kernels/negative_log_likelihood_loss/negative_log_likelihood_loss_gradient.h"

#include <string.h>

#include "kernels/losses/model_loss.h"

static void negative_log_likelihood_loss_gradient_run(const ons_launch *launch) {
    const ons_model_loss *loss = launch->state;
    const ons_axis_view *view = &loss->classes.view;
    const void *labels = launch->inputs[ONS_MODEL_LOSS_LABELS];
    ons_loss_scale scale = ons_model_loss_scale(launch, COTANGENT);
    float *dx = launch->outputs[0];
    int64_t size = view->length * view->inner;
#pragma omp parallel for schedule(static) if (view->outer * size > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < view->outer; ++i) {
        memset(dx + i * size, 0, (size_t)size * sizeof *dx);
        for (int64_t c = 0; c < view->inner; ++c) {
            int64_t target = i * view->inner + c, class = ons_class_at(&loss->classes, labels, target);
            if (class >= 0) dx[i * size + class * view->inner + c] = -ons_loss_scale_at(&scale, target, class);
        }
    }
}

ONS_KERNELS(cpu, negative_log_likelihood_loss_gradient,
            ONS_KERNEL(ons_model_loss_prepare, negative_log_likelihood_loss_gradient_run))
