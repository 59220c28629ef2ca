#include "kernels/common/optimizer.h"

#include <string.h>

ons_status *ons_optimizer_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    const ons_type *parameter = &o->inputs[ONS_PARAMETER_IN];
    if (!ons_dtype_is_float(parameter->dtype))
        return ons_node_error(o, "cannot train %s", ons_type_print(parameter, left));
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (i == ONS_FACTOR_IN || !ons_has_input(o, i)) continue;
        if (o->inputs[i].dtype != parameter->dtype || !ons_shape_equal(&o->inputs[i].shape, &parameter->shape))
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
    o->outputs[0] = *parameter;
    for (uint32_t i = 1; i < o->output_count; ++i)
        if (ons_has_input(o, ONS_STATE_IN + i - 1)) o->outputs[i] = *parameter;
    return NULL;
}

ons_cost ons_optimizer_cost(const ons_operands *o, int operations) {
    return (ons_cost){operations * (double)ons_elements(&o->inputs[ONS_PARAMETER_IN]), ons_operand_bytes(o)};
}

ons_status *ons_optimizer_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_optimizer), &memory));
    ons_optimizer *optimizer = memory;
    optimizer->elements = ons_elements(&o->inputs[ONS_PARAMETER_IN]);
    optimizer->has_factor = ons_has_input(o, ONS_FACTOR_IN);
    optimizer->counts_skipped = optimizer->has_factor && ons_elements(&o->inputs[ONS_FACTOR_IN]) == 2;
    for (uint32_t i = ONS_STATE_IN; ons_has_input(o, i); ++i) ++optimizer->states;
    for (uint32_t i = 0; i < ONS_OPTIMIZER_NUMBERS && o->op->attributes[i].name != NULL; ++i)
        optimizer->numbers[i] = ons_optimizer_number(o, i);
    return NULL;
}

bool ons_optimizer_skips(const ons_launch *launch) {
    const ons_optimizer *optimizer = launch->state;
    size_t bytes = (size_t)optimizer->elements * sizeof(float);
    if (!optimizer->counts_skipped || !(ons_optimizer_factor(launch) < 0)) return false;
    if (launch->outputs[0] != launch->inputs[ONS_PARAMETER_IN])
        memcpy(launch->outputs[0], launch->inputs[ONS_PARAMETER_IN], bytes);
    for (int i = 0; i < optimizer->states; ++i)
        if (launch->outputs[1 + i] != launch->inputs[ONS_STATE_IN + i])
            memcpy(launch->outputs[1 + i], launch->inputs[ONS_STATE_IN + i], bytes);
    return true;
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
    ons_adam_rates rates = ons_adam_rates_at(step, skipped, beta1, beta2);
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double p = parameter[i], g = gradient[i] * factor;
        if (decoupled)
            p -= step->learning_rate * decay * p;
        else
            g += decay * p;
        new_average[i] = beta1 * average[i] + (1 - beta1) * g;
        new_square[i] = beta2 * square[i] + (1 - beta2) * g * g;
        double root = sqrt(new_square[i]) * rates.root_correction + ons_attribute_float(o, ONS_ADAM_EPSILON);
        new_parameter[i] = p - rates.step_size * new_average[i] / root;
    }
}

void ons_adam_run(const ons_launch *launch, bool decoupled) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *average = launch->inputs[3];
    const float *square = launch->inputs[4];
    float *new_parameter = launch->outputs[0], *new_average = launch->outputs[1], *new_square = launch->outputs[2];
    const double *numbers = state->numbers;
    if (ons_optimizer_skips(launch)) return;
    ons_adam_rates rates = ons_adam_rates_at(launch->step, ons_optimizer_skipped(launch), numbers[ONS_ADAM_BETA1],
                                             numbers[ONS_ADAM_BETA2]);
    double decay = numbers[ONS_ADAM_WEIGHT_DECAY];
    float factor = ons_optimizer_factor(launch), epsilon = (float)numbers[ONS_ADAM_EPSILON];
    float into_gradient = decoupled ? 0 : (float)decay;
    float keep = decoupled ? (float)(1 - launch->step->learning_rate * decay) : 1;
    float weight = (float)(1 - numbers[ONS_ADAM_BETA1]), weight_rest = (float)numbers[ONS_ADAM_BETA1];
    float square_weight = (float)(1 - numbers[ONS_ADAM_BETA2]), square_rest = (float)numbers[ONS_ADAM_BETA2];
    float root_correction = (float)rates.root_correction, step_size = (float)rates.step_size;
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + into_gradient * parameter[i];
        float m = average[i] * weight_rest + g * weight;
        float v = square[i] * square_rest + g * g * square_weight;
        new_average[i] = m;
        new_square[i] = v;
        new_parameter[i] = parameter[i] * keep - step_size * m / (sqrtf(v) * root_correction + epsilon);
    }
}
