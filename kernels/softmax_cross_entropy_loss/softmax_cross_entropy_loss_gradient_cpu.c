/* SoftmaxCrossEntropyLossGradient on the CPU. */
#include "kernels/softmax_cross_entropy_loss/softmax_cross_entropy_loss_gradient.h"

#include <math.h>
#include <string.h>

#include "kernels/common/math/far.h"
#include "kernels/losses/model_loss.h"

static void fill_row(const ons_class_loss *classes, const ons_launch *launch, const ons_loss_scale *scale, int64_t i) {
    int64_t length = classes->view.length, class = ons_class_at(classes, launch->inputs[ONS_MODEL_LOSS_LABELS], i);
    float *row = (float *)launch->outputs[0] + i * length;
    if (class < 0) {
        memset(row, 0, (size_t)length * sizeof *row);
        return;
    }
    const float *x = (const float *)launch->inputs[0] + i * length;
    float factor = ons_loss_scale_at(scale, i, class), log_sum = ((const float *)launch->inputs[LOG_SUM])[i];
    ons_row_scaled_exp(x, log_sum, factor * ons_far_share(x, 1, length, log_sum), row, length);
    row[class] -= factor;
}

static void fill_block(const ons_class_loss *classes, const ons_launch *launch, const ons_loss_scale *scale,
                       const ons_column_block *at) {
    const float *x = (const float *)launch->inputs[0] + at->offset, *log_sum = launch->inputs[LOG_SUM];
    float *dx = (float *)launch->outputs[0] + at->offset;
    int64_t inner = classes->view.inner;
    int64_t labels[ONS_COLUMNS];
    float shift[ONS_COLUMNS], factor[ONS_COLUMNS], share[ONS_COLUMNS];
    for (int c = 0; c < at->width; ++c) {
        int64_t class = labels[c] = ons_class_at(classes, launch->inputs[ONS_MODEL_LOSS_LABELS], at->column + c);
        shift[c] = class < 0 ? INFINITY : log_sum[at->column + c]; /* e^-inf is 0: targets that do not count */
        factor[c] = class < 0 ? 0.0f : ons_loss_scale_at(scale, at->column + c, class);
        share[c] = factor[c] * ons_far_share(x + c, inner, classes->view.length, shift[c]);
    }
    for (int64_t k = 0; k < classes->view.length; ++k) {
        float *row = dx + k * inner;
        ons_shifted_exp(x + k * inner, shift, 1.0f, row, at->width);
        for (int c = 0; c < at->width; ++c) row[c] *= share[c];
    }
    for (int c = 0; c < at->width; ++c)
        if (labels[c] >= 0) dx[labels[c] * inner + c] -= factor[c];
}

static void softmax_cross_entropy_loss_gradient_run(const ons_launch *launch) {
    const ons_model_loss *loss = launch->state;
    const ons_class_loss *classes = &loss->classes;
    ons_loss_scale scale = ons_model_loss_scale(launch, COTANGENT);
    int64_t items = ons_class_loss_items(classes);
#pragma omp parallel for schedule(static) if (classes->parts > 1)
    for (int64_t item = 0; item < items; ++item) {
        if (classes->view.inner == 1) {
            fill_row(classes, launch, &scale, item);
            continue;
        }
        ons_column_block at = ons_column_block_at(&classes->view, item);
        fill_block(classes, launch, &scale, &at);
    }
}

ONS_KERNELS(cpu, softmax_cross_entropy_loss_gradient,
            ONS_KERNEL(ons_model_loss_prepare, softmax_cross_entropy_loss_gradient_run))
