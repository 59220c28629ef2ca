/* NegativeLogLikelihoodLoss on the CPU. */
#include "kernels/losses/model_loss.h"

static void take_target(ons_loss_part *part, int64_t i) {
    const ons_class_loss *classes = &part->loss->classes;
    int64_t class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
    const float *scores = part->launch->inputs[ONS_MODEL_LOSS_SCORES];
    if (class < 0)
        ons_loss_skip(part, i);
    else
        ons_loss_take(part, i, class, -scores[ons_loss_first(&classes->view, i) + class * classes->view.inner]);
}

static void take_part(ons_loss_part *part) {
    const ons_axis_view *view = &part->loss->classes.view;
    for (int64_t item = part->begin; item < part->end; ++item) {
        ons_column_block at = {0, item, 1};
        if (view->inner > 1) at = ons_column_block_at(view, item);
        for (int c = 0; c < at.width; ++c) take_target(part, at.column + c);
    }
}

static void negative_log_likelihood_loss_run(const ons_launch *launch) { ons_model_loss_run(launch, take_part); }

ONS_KERNELS(cpu, negative_log_likelihood_loss, ONS_KERNEL(ons_model_loss_prepare, negative_log_likelihood_loss_run))
