/* What the CPU runs of optimizer.h. */
#include "kernels/optimizers/optimizer.h"

#include <string.h>

ons_status *ons_optimizer_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_require_float32_of(p->operands, &p->operands->inputs[ONS_GRADIENT_IN]));
    return ons_optimizer_prepare_any(p);
}

ons_status *ons_optimizer_prepare_any(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_optimizer *optimizer;
    ONS_NEW_STATE(optimizer, p);
    optimizer->gradient = o->inputs[ONS_GRADIENT_IN].dtype;
    optimizer->elements = ons_elements(&o->inputs[ONS_PARAMETER_IN]);
    optimizer->has_factor = ons_has_input(o, ONS_FACTOR_IN);
    optimizer->counts_skipped = optimizer->has_factor && ons_elements(&o->inputs[ONS_FACTOR_IN]) == 2;
    uint32_t half = ons_update_half_input(o->op);
    for (uint32_t i = ONS_STATE_IN; i < half && ons_has_input(o, i); ++i) ++optimizer->states;
    optimizer->half_output = ons_update_half_output(o->op);
    if (ons_has_output(o, optimizer->half_output)) optimizer->half = o->inputs[half].dtype;
    for (uint32_t i = 0; i < ONS_OPTIMIZER_NUMBERS && o->op->attributes[i].name != NULL; ++i)
        optimizer->numbers[i] = ons_optimizer_number(o, i);
    optimizer->has_rate = ons_optimizer_own_rate(o, &optimizer->rate);
    return NULL;
}

void ons_optimizer_write_half(const ons_launch *launch) {
    const ons_optimizer *optimizer = launch->state;
    if (optimizer->half == ONS_NO_DTYPE) return;
    const float *parameter = launch->outputs[0];
    uint16_t *half = launch->outputs[optimizer->half_output];
    bool bfloat16 = optimizer->half == ONS_BFLOAT16;
    int64_t n = optimizer->elements;
    if (optimizer->half == ONS_FLOAT32) { /* for a kernel around this one, which rounds it (stand_in.h) */
        memcpy(half, parameter, (size_t)n * sizeof *parameter);
        return;
    }
#pragma omp parallel for schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i)
        half[i] = bfloat16 ? ons_float_to_bfloat16(parameter[i]) : ons_float_to_half(parameter[i]);
}

/* Of a step that is skipped. */
static void keep_half(const ons_launch *launch) {
    const ons_optimizer *optimizer = launch->state;
    if (optimizer->half == ONS_NO_DTYPE) return;
    const void *from = launch->inputs[ONS_STATE_IN + optimizer->half_output - 1];
    void *to = launch->outputs[optimizer->half_output];
    if (to != from) memcpy(to, from, (size_t)optimizer->elements * ons_dtype_size(optimizer->half));
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
    keep_half(launch);
    return true;
}

void ons_adam_run(const ons_launch *launch, bool decoupled) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *average = launch->inputs[3];
    const float *square = launch->inputs[4];
    float *new_parameter = launch->outputs[0], *new_average = launch->outputs[1], *new_square = launch->outputs[2];
    const double *numbers = state->numbers;
    if (ons_optimizer_skips(launch)) return;
    float rate = ons_optimizer_rate(state, launch->step);
    ons_adam_rates rates = ons_adam_rates_at(launch->step, rate, ons_optimizer_skipped(launch), numbers[ONS_ADAM_BETA1],
                                             numbers[ONS_ADAM_BETA2]);
    double decay = numbers[ONS_ADAM_WEIGHT_DECAY];
    float factor = ons_optimizer_factor(launch), epsilon = (float)numbers[ONS_ADAM_EPSILON];
    float into_gradient = decoupled ? 0 : (float)decay;
    float keep = decoupled ? (float)(1 - rate * decay) : 1;
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
    ons_optimizer_write_half(launch);
}
