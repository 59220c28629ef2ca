/* What the CPU runs of model_loss.h. */
#include "kernels/losses/model_loss.h"

ons_status *ons_model_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_model_loss *state;
    ONS_NEW_STATE(state, p);
    *state = ons_model_loss_of(p->operands);
    p->scratch_bytes = 2 * ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

void ons_model_loss_run(const ons_launch *launch, ons_loss_part_function *function) {
    const ons_model_loss *loss = launch->state;
    int parts = loss->classes.parts;
    int64_t items = ons_class_loss_items(&loss->classes);
    double *sums = launch->scratch, *weights = sums + ONS_PARTS_MAX;
    ons_class_loss_check(&loss->classes, launch->inputs[ONS_MODEL_LOSS_LABELS], launch->fault);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        ons_loss_part work = {loss, launch, ons_part_begin(items, parts, part), ons_part_begin(items, parts, part + 1),
                              0,    0};
        function(&work);
        sums[part] = work.sum;
        weights[part] = work.weight;
    }
    if (loss->reduction == ONS_LOSS_EACH) return;
    double sum = ons_sum_parts(sums, parts);
    if (loss->reduction == ONS_LOSS_MEAN) sum /= ons_sum_parts(weights, parts);
    *(float *)launch->outputs[0] = (float)sum;
}

/* Σ weights of the targets that count. */
static double total_weight(const ons_launch *launch) {
    const ons_model_loss *loss = launch->state;
    const void *labels = launch->inputs[ONS_MODEL_LOSS_LABELS];
    const float *weights = ons_loss_weights(loss, launch);
    double *sums = launch->scratch;
    int64_t targets = loss->classes.view.outer * loss->classes.view.inner;
    int parts = ons_parts(targets, 1);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        double sum = 0;
        for (int64_t i = ons_part_begin(targets, parts, part), end = ons_part_begin(targets, parts, part + 1); i < end;
             ++i) {
            int64_t class = ons_class_at(&loss->classes, labels, i);
            sum += class < 0 ? 0 : weights == NULL ? 1 : (double)weights[class];
        }
        sums[part] = sum;
    }
    return ons_sum_parts(sums, parts);
}

ons_loss_scale ons_model_loss_scale(const ons_launch *launch, uint32_t cotangent) {
    const ons_model_loss *loss = launch->state;
    const float *dy = launch->inputs[cotangent];
    ons_loss_scale scale = {.weights = ons_loss_weights(loss, launch)};
    if (loss->reduction == ONS_LOSS_EACH)
        scale.each = dy;
    else
        scale.factor = loss->reduction == ONS_LOSS_SUM ? *dy : (float)((double)*dy / total_weight(launch));
    return scale;
}
