#include "kernels/optimizers/optimizer.h"

#include <string.h>

static ons_status *check_half(const ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *parameter = &o->inputs[ONS_PARAMETER_IN];
    uint32_t input = ons_update_half_input(o->op);
    if (!ons_has_input(o, input)) return NULL;
    const ons_type *half = &o->inputs[input];
    if (parameter->dtype != ONS_FLOAT32 || !ons_dtype_is_half(half->dtype) ||
        !ons_shape_equal(&half->shape, &parameter->shape))
        return ons_node_error(o, "input %u is %s, not the parameter, %s, in a half type", input,
                              ons_type_print(half, left), ons_type_print(parameter, right));
    return NULL;
}

ons_status *ons_optimizer_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *parameter = &o->inputs[ONS_PARAMETER_IN];
    uint32_t half = ons_update_half_input(o->op);
    if (!ons_dtype_is_float(parameter->dtype))
        return ons_node_error(o, "cannot train %s", ons_type_print(parameter, left));
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (i == ONS_FACTOR_IN || i == half || !ons_has_input(o, i)) continue;
        bool widens = i == ONS_GRADIENT_IN && parameter->dtype == ONS_FLOAT32 && ons_dtype_is_half(o->inputs[i].dtype);
        if ((o->inputs[i].dtype != parameter->dtype && !widens) ||
            !ons_shape_equal(&o->inputs[i].shape, &parameter->shape))
            return ons_node_error(o, "input %u is %s, the parameter %s", i, ons_type_print(&o->inputs[i], left),
                                  ons_type_print(parameter, right));
    }
    if (ons_has_input(o, ONS_FACTOR_IN) && ons_elements(&o->inputs[ONS_FACTOR_IN]) != 1 &&
        ons_elements(&o->inputs[ONS_FACTOR_IN]) != 2)
        return ons_node_error(o, "the factor must be one number, or two with that of skipped steps, not %s",
                              ons_type_print(&o->inputs[ONS_FACTOR_IN], left));
    for (uint32_t i = 0; i + 1 < o->op->arity.outputs_min; ++i)
        if (!ons_has_input(o, ONS_STATE_IN + i))
            return ons_node_error(o, "input %u, a state, is missing", ONS_STATE_IN + i);
    ONS_TRY(check_half(o));
    o->outputs[0] = *parameter;
    for (uint32_t i = 1; i < o->output_count; ++i)
        if (ons_has_input(o, ONS_STATE_IN + i - 1)) o->outputs[i] = o->inputs[ONS_STATE_IN + i - 1];
    return NULL;
}

bool ons_optimizer_own_rate(const ons_operands *o, double *rate) {
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i) {
        if (strcmp(o->op->attributes[i].name, ONS_OWN_RATE_NAME) != 0 || !ons_has_attribute(o, i)) continue;
        *rate = ons_attribute_float(o, i);
        return true;
    }
    return false;
}

ons_cost ons_optimizer_cost(const ons_operands *o, int operations) {
    uint32_t half = ons_update_half_input(o->op);
    double unread = ons_has_input(o, half) ? (double)ons_type_dense_bytes(&o->inputs[half]) : 0;
    return (ons_cost){operations * (double)ons_elements(&o->inputs[ONS_PARAMETER_IN]), ons_operand_bytes(o) - unread};
}

/* Words hold any number: whoever reads them rounds them to the output's type. */
void ons_reference_write_half(const ons_operands *o, void *const *outputs) {
    uint32_t half = ons_update_half_output(o->op);
    if (ons_has_output(o, half))
        memcpy(outputs[half], outputs[0], (size_t)ons_elements(&o->outputs[0]) * sizeof(double));
}

bool ons_reference_skips(const ons_operands *o, const void *const *inputs, void *const *outputs) {
    size_t bytes = (size_t)ons_elements(&o->inputs[0]) * sizeof(double);
    bool skips = ons_has_input(o, ONS_FACTOR_IN) && ons_elements(&o->inputs[ONS_FACTOR_IN]) == 2 &&
                 ons_reference_factor(o, inputs) < 0;
    for (uint32_t i = 0; skips && i < o->output_count; ++i)
        if (ons_has_output(o, i)) memcpy(outputs[i], inputs[i == 0 ? ONS_PARAMETER_IN : ONS_STATE_IN + i - 1], bytes);
    return skips;
}

/* Factor and decay 3, averages 7, root and correction 3, quotient and step 4. */
ons_cost ons_adam_cost(const ons_operands *o) { return ons_optimizer_cost(o, 17); }

void ons_adam_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs,
                        bool decoupled) {
    const double *parameter = inputs[0], *gradient = inputs[1], *average = inputs[3], *square = inputs[4];
    double *new_parameter = outputs[0], *new_average = outputs[1], *new_square = outputs[2];
    double beta1 = ons_attribute_float(o, ONS_ADAM_BETA1), beta2 = ons_attribute_float(o, ONS_ADAM_BETA2);
    double decay = ons_attribute_float(o, ONS_ADAM_WEIGHT_DECAY), factor = ons_reference_factor(o, inputs);
    double skipped = ons_has_input(o, ONS_FACTOR_IN) && ons_elements(&o->inputs[ONS_FACTOR_IN]) == 2
                         ? ((const double *)inputs[ONS_FACTOR_IN])[1]
                         : 0;
    if (ons_reference_skips(o, inputs, outputs)) return;
    double rate = ons_reference_rate(o, step);
    ons_adam_rates rates = ons_adam_rates_at(step, rate, skipped, beta1, beta2);
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double p = parameter[i], g = gradient[i] * factor;
        if (decoupled)
            p -= rate * decay * p;
        else
            g += decay * p;
        new_average[i] = beta1 * average[i] + (1 - beta1) * g;
        new_square[i] = beta2 * square[i] + (1 - beta2) * g * g;
        double root = sqrt(new_square[i]) * rates.root_correction + ons_attribute_float(o, ONS_ADAM_EPSILON);
        new_parameter[i] = p - rates.step_size * new_average[i] / root;
    }
    ons_reference_write_half(o, outputs);
}
