/* SoftmaxCrossEntropyLoss on the CPU. */
#include "kernels/softmax_cross_entropy_loss/softmax_cross_entropy_loss.h"

#include "kernels/losses/model_loss.h"

static void take_rows(ons_loss_part *part) {
    const ons_class_loss *classes = &part->loss->classes;
    const float *scores = part->launch->inputs[ONS_MODEL_LOSS_SCORES];
    float *log_probability = part->launch->outputs[LOG_PROBABILITY], *saved = part->launch->outputs[LOG_SUM];
    int64_t length = classes->view.length;
    for (int64_t i = part->begin; i < part->end; ++i) {
        const float *row = scores + i * length;
        int64_t class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
        float max, log_sum;
        ons_row_max_and_log_sum(row, length, &max, &log_sum);
        if (class < 0)
            ons_loss_skip(part, i);
        else
            ons_loss_take(part, i, class, (max - row[class]) + log_sum);
        if (saved != NULL) saved[i] = max + log_sum;
        for (int64_t k = 0; log_probability != NULL && k < length; ++k)
            log_probability[i * length + k] = (row[k] - max) - log_sum;
    }
}

static void take_block(ons_loss_part *part, const ons_column_block *at) {
    const ons_class_loss *classes = &part->loss->classes;
    const float *scores = (const float *)part->launch->inputs[ONS_MODEL_LOSS_SCORES] + at->offset;
    float *log_probability = part->launch->outputs[LOG_PROBABILITY], *saved = part->launch->outputs[LOG_SUM];
    int64_t length = classes->view.length, inner = classes->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    ons_columns_max_and_log_sum(scores, length, inner, at->width, max, log_sum);
    for (int c = 0; c < at->width; ++c) {
        int64_t i = at->column + c, class = ons_class_at(classes, part->launch->inputs[ONS_MODEL_LOSS_LABELS], i);
        if (class < 0)
            ons_loss_skip(part, i);
        else
            ons_loss_take(part, i, class, (max[c] - scores[class * inner + c]) + log_sum[c]);
        if (saved != NULL) saved[i] = max[c] + log_sum[c];
    }
    for (int64_t k = 0; log_probability != NULL && k < length; ++k)
        for (int c = 0; c < at->width; ++c)
            log_probability[at->offset + k * inner + c] = (scores[k * inner + c] - max[c]) - log_sum[c];
}

static void take_part(ons_loss_part *part) {
    const ons_axis_view *view = &part->loss->classes.view;
    if (view->inner == 1) {
        take_rows(part);
        return;
    }
    for (int64_t block = part->begin; block < part->end; ++block) {
        ons_column_block at = ons_column_block_at(view, block);
        take_block(part, &at);
    }
}

static void softmax_cross_entropy_loss_run(const ons_launch *launch) { ons_model_loss_run(launch, take_part); }

ONS_KERNELS(cpu, softmax_cross_entropy_loss, ONS_KERNEL(ons_model_loss_prepare, softmax_cross_entropy_loss_run))
