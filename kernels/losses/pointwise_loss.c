#include "kernels/losses/pointwise_loss.h"

static ons_status *check_operands(const ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *prediction = &o->inputs[0], *target = &o->inputs[1];
    if (!ons_dtype_is_float(prediction->dtype) || target->dtype != prediction->dtype ||
        !ons_shape_equal(&prediction->shape, &target->shape))
        return ons_node_error(o, "prediction %s and target %s must have one shape and one float type",
                              ons_type_print(prediction, left), ons_type_print(target, right));
    return NULL;
}

ons_status *ons_pointwise_loss_infer(ons_operands *o) {
    ONS_TRY(check_operands(o));
    o->outputs[0] = ons_loss_type(&o->inputs[0]);
    return NULL;
}

ons_status *ons_pointwise_loss_gradient_infer(ons_operands *o) {
    ONS_TRY(check_operands(o));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

double ons_pointwise_loss_parameter(const ons_operands *o) {
    return o->op->attributes[0].name == NULL ? 0 : ons_attribute_float(o, 0);
}

ons_status *ons_pointwise_loss_build_gradient(ons_gradient *g, const ons_operator *op) {
    ons_build_node_like(g->builder, op, ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

void ons_pointwise_loss_sum(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs, ons_pointwise_words *formula) {
    const double *prediction = inputs[0], *target = inputs[1];
    double sum = 0, parameter = ons_pointwise_loss_parameter(o);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        sum += formula(prediction[i], target[i], parameter);
    *(double *)outputs[0] = sum / step->counted_targets;
}

void ons_pointwise_loss_slopes(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs, ons_pointwise_words *formula) {
    const double *prediction = inputs[0], *target = inputs[1];
    double *dx = outputs[0], scale = *(const double *)inputs[2] / step->counted_targets;
    double parameter = ons_pointwise_loss_parameter(o);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        dx[i] = formula(prediction[i], target[i], parameter) * scale;
}
