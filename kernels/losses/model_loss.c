#include "kernels/losses/model_loss.h"

#include <string.h>

#include "kernels/common/math/far.h"

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
        double share = 0; /* the logarithm of it */
        if (saved != NULL) share = log(ons_far_share_of_words(scores + first, view->inner, view->length, saved[i]));
        for (int64_t k = 0; k < view->length; ++k) {
            int64_t at = first + k * view->inner;
            double above = saved == NULL ? scores[at] : scores[at] - saved[i] + share;
            gradient[at] = class < 0 ? 0 : scale * slope(above, k == class);
        }
    }
}
