#include "kernels/losses/class_loss.h"

ons_status *ons_class_loss_view(const ons_operands *o, int64_t class_axis, ons_axis_view *view) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *prediction = &o->inputs[0], *target = &o->inputs[1];
    if (!ons_dtype_is_float(prediction->dtype))
        return ons_node_error(o, "the prediction must be a float tensor, not %s", ons_type_print(prediction, left));
    if (target->dtype != ONS_INT64 && target->dtype != ONS_INT32)
        return ons_node_error(o, "the target must hold class numbers, int64 or int32, not %s",
                              ons_type_print(target, left));
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, class_axis, prediction->shape.rank, &axis));
    bool fits = target->shape.rank + 1 == prediction->shape.rank;
    for (uint32_t i = 0; fits && i < target->shape.rank; ++i)
        fits = target->shape.dims[i] == prediction->shape.dims[i < axis ? i : i + 1];
    if (!fits)
        return ons_node_error(o, "the target %s must have the shape of the prediction %s without axis %u",
                              ons_type_print(target, right), ons_type_print(prediction, left), axis);
    return ons_axis_view_of(o, &prediction->shape, axis, false, view);
}

static uint32_t weights_of(const ons_operands *o) {
    uint32_t last = o->op->arity.inputs_max - 1;
    return ons_has_input(o, last) ? last : ONS_NONE;
}

/* Which of how many classes lie along an axis of that length: all of them, but for an operator that says otherwise. The
 * one that says how many there are, and not where its own begin, has none of them: these would follow the last. */
static ons_status *find_classes(const ons_operands *o, int64_t length, int64_t *first, int64_t *classes) {
    uint32_t attributes = ons_operator_attributes(o->op);
    *first = 0;
    *classes = length;
    if (attributes <= ONS_CLASS_LOSS_OTHERS) return NULL;
    *first = ons_attribute_int(o, ONS_CLASS_LOSS_OTHERS);
    *classes = ons_attribute_int(o, attributes - 1);
    if (*classes < 1) return ons_node_error(o, "%lld classes", (long long)*classes);
    return attributes == ONS_CLASS_LOSS_OTHERS + 1 ? NULL : ons_node_shard(o, *first, length, *classes);
}

static ons_status *check_operands(const ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    ons_axis_view view;
    int64_t first, classes;
    ONS_TRY(ons_class_loss_view(o, ons_attribute_int(o, ONS_CLASS_LOSS_AXIS), &view));
    ONS_TRY(find_classes(o, view.length, &first, &classes));
    if (weights_of(o) == ONS_NONE) return NULL;
    const ons_type *weights = &o->inputs[weights_of(o)];
    ons_dtype wanted = ons_loss_type(&o->inputs[0]).dtype;
    if (weights->dtype != wanted || weights->shape.rank != 1 || weights->shape.dims[0] != classes)
        return ons_node_error(o, "the weights are %s; one %s for each of the %lld classes is needed",
                              ons_type_print(weights, text), ons_dtype_name(wanted), (long long)classes);
    return NULL;
}

ons_status *ons_class_loss_infer(ons_operands *o) {
    ONS_TRY(check_operands(o));
    o->outputs[0] = ons_loss_type(&o->inputs[0]);
    if (o->output_count > 1) o->outputs[1] = ons_type_make(o->outputs[0].dtype, o->inputs[1].shape);
    return NULL;
}

ons_status *ons_class_loss_gradient_infer(ons_operands *o) {
    ONS_TRY(check_operands(o));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

ons_class_loss ons_class_loss_along(const ons_operands *o, int64_t class_axis, int64_t ignore_index) {
    ons_class_loss loss = {.ignore_index = ignore_index, .wide = o->inputs[1].dtype == ONS_INT64, .weights = ONS_NONE};
    ons_resolved(ons_class_loss_view(o, class_axis, &loss.view));
    loss.classes = loss.view.length;
    int64_t size = loss.view.length * (loss.view.inner == 1 ? 1 : ONS_COLUMNS);
    loss.parts = ons_parts(ons_class_loss_items(&loss), size);
    return loss;
}

double ons_class_loss_smoothing(const ons_operands *o) {
    bool declared = o->op->attributes[ONS_CLASS_LOSS_SMOOTHING].name != NULL;
    return declared && ons_has_attribute(o, ONS_CLASS_LOSS_SMOOTHING) ? ons_attribute_float(o, ONS_CLASS_LOSS_SMOOTHING)
                                                                      : 0;
}

ons_class_loss ons_class_loss_of(const ons_operands *o) {
    ons_class_loss loss =
        ons_class_loss_along(o, ons_attribute_int(o, ONS_CLASS_LOSS_AXIS), ons_attribute_int(o, ONS_CLASS_LOSS_IGNORE));
    ons_resolved(find_classes(o, loss.view.length, &loss.first, &loss.classes));
    loss.weights = weights_of(o);
    loss.smoothing = ons_class_loss_smoothing(o);
    return loss;
}

void ons_class_loss_check(const ons_class_loss *loss, const void *targets, ons_fault *fault) {
    int64_t count = loss->view.outer * loss->view.inner, classes = loss->classes;
    for (int64_t i = 0; i < count; ++i) {
        int64_t target = ons_target_at(loss, targets, i);
        if (target != loss->ignore_index && (uint64_t)target >= (uint64_t)classes) {
            if (fault != NULL && fault->problem == NULL)
                *fault = (ons_fault){.problem = ONS_CLASS_PROBLEM, .index = i, .value = target, .classes = classes};
            return;
        }
    }
}
