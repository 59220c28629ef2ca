#include "kernels/common/model_loss.h"

#include <string.h>

/* A label that no tensor holds by mistake: stands for a node without ignore_index. */
static const int64_t NOTHING_IGNORED = INT64_MIN;

static bool find_reduction(const ons_operands *o, ons_loss_reduction *reduction) {
    static const char *const names[] = {[ONS_LOSS_EACH] = "none", [ONS_LOSS_SUM] = "sum", [ONS_LOSS_MEAN] = "mean"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(ons_attribute_string(o, ONS_MODEL_LOSS_REDUCTION), names[i]) == 0) {
            *reduction = (ons_loss_reduction)i;
            return true;
        }
    return false;
}

static ons_status *check_operands(const ons_operands *o, ons_loss_reduction *reduction) {
    char text[ONS_TYPE_TEXT];
    ons_axis_view view;
    ONS_TRY(ons_class_loss_view(o, 1, &view));
    if (!find_reduction(o, reduction))
        return ons_node_error(o, "reduction is '%s'; 'none', 'sum' and 'mean' are possible",
                              ons_attribute_string(o, ONS_MODEL_LOSS_REDUCTION));
    if (!ons_has_input(o, ons_model_loss_weights(o))) return NULL;
    const ons_type *weights = &o->inputs[ons_model_loss_weights(o)];
    if (weights->dtype != o->inputs[0].dtype || weights->shape.rank != 1 || weights->shape.dims[0] != view.length)
        return ons_node_error(o, "the weights are %s; one %s for each of the %lld classes is needed",
                              ons_type_print(weights, text), ons_dtype_name(o->inputs[0].dtype),
                              (long long)view.length);
    return NULL;
}

static ons_type loss_type(const ons_operands *o, ons_loss_reduction reduction) {
    return ons_type_make(o->inputs[0].dtype, reduction == ONS_LOSS_EACH ? o->inputs[1].shape : (ons_shape){0});
}

ons_status *ons_model_loss_infer(ons_operands *o) {
    ons_loss_reduction reduction;
    ONS_TRY(check_operands(o, &reduction));
    o->outputs[0] = loss_type(o, reduction);
    if (o->output_count > 1) o->outputs[1] = o->inputs[0];
    if (o->output_count > 2) o->outputs[2] = ons_type_make(o->inputs[0].dtype, o->inputs[1].shape);
    return NULL;
}

ons_status *ons_model_loss_gradient_infer(ons_operands *o, uint32_t cotangent) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_loss_reduction reduction;
    ONS_TRY(check_operands(o, &reduction));
    ons_type loss = loss_type(o, reduction);
    if (!ons_type_equal(&o->inputs[cotangent], &loss))
        return ons_node_error(o, "the cotangent is %s, but the loss %s", ons_type_print(&o->inputs[cotangent], left),
                              ons_type_print(&loss, right));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

ons_model_loss ons_model_loss_of(const ons_operands *o) {
    bool ignores = ons_has_attribute(o, ONS_MODEL_LOSS_IGNORE);
    ons_model_loss loss = {
        .classes = ons_class_loss_along(o, 1, ignores ? ons_attribute_int(o, ONS_MODEL_LOSS_IGNORE) : NOTHING_IGNORED),
        .weights = ons_has_input(o, ons_model_loss_weights(o)) ? ons_model_loss_weights(o) : ONS_NONE,
    };
    find_reduction(o, &loss.reduction);
    return loss;
}

ons_status *ons_model_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_model_loss), &memory));
    *(ons_model_loss *)memory = ons_model_loss_of(p->operands);
    p->scratch_bytes = 2 * ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- kernels */

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

/* ------------------------------------------------------------------------------------------------------- references */

static ons_model_loss loss_of_words(const ons_operands *o) {
    ons_model_loss loss = ons_model_loss_of(o);
    loss.classes.wide = true;
    return loss;
}

static double word_weight(const ons_model_loss *loss, const void *const *inputs, int64_t class) {
    if (class < 0) return 0;
    return loss->weights == ONS_NONE ? 1 : ((const double *)inputs[loss->weights])[class];
}

void ons_model_loss_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs, ons_loss_value_function *value) {
    ons_model_loss loss = loss_of_words(o);
    const ons_axis_view *view = &loss.classes.view;
    const double *scores = inputs[ONS_MODEL_LOSS_SCORES];
    double sum = 0, total = 0, *result = outputs[0];
    ons_class_loss_check(&loss.classes, inputs[ONS_MODEL_LOSS_LABELS], step->fault);
    for (int64_t i = 0; i < view->outer * view->inner; ++i) {
        int64_t class = ons_class_at(&loss.classes, inputs[ONS_MODEL_LOSS_LABELS], i);
        double weight = word_weight(&loss, inputs, class);
        double weighted = class < 0 ? 0 : weight * value(view, scores + ons_loss_first(view, i), class);
        if (loss.reduction == ONS_LOSS_EACH) result[i] = weighted;
        sum += weighted;
        total += weight;
    }
    if (loss.reduction != ONS_LOSS_EACH) *result = loss.reduction == ONS_LOSS_MEAN ? sum / total : sum;
}

void ons_model_loss_gradient_reference(const ons_operands *o, const void *const *inputs, uint32_t cotangent,
                                       const double *saved, double *gradient, ons_loss_slope_function *slope) {
    ons_model_loss loss = loss_of_words(o);
    const ons_axis_view *view = &loss.classes.view;
    const double *scores = inputs[ONS_MODEL_LOSS_SCORES], *dy = inputs[cotangent];
    const void *labels = inputs[ONS_MODEL_LOSS_LABELS];
    int64_t targets = view->outer * view->inner;
    double total = 0;
    for (int64_t i = 0; i < targets; ++i) total += word_weight(&loss, inputs, ons_class_at(&loss.classes, labels, i));
    for (int64_t i = 0; i < targets; ++i) {
        int64_t class = ons_class_at(&loss.classes, labels, i), first = ons_loss_first(view, i);
        double scale = word_weight(&loss, inputs, class) * (loss.reduction == ONS_LOSS_EACH ? dy[i] : *dy);
        if (loss.reduction == ONS_LOSS_MEAN) scale /= total;
        for (int64_t k = 0; k < view->length; ++k) {
            int64_t at = first + k * view->inner;
            gradient[at] = class < 0 ? 0 : scale * slope(scores[at], saved == NULL ? 0 : saved[i], k == class);
        }
    }
}
