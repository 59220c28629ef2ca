/* RMSprop: g += decay p; s = alpha s + (1 - alpha) g²; q = g / (√s + eps); with momentum b = momentum b + q, p -= lr b,
 * else p -= lr q. */
#include "kernels/common/optimizer.h"

enum { ALPHA, EPSILON, WEIGHT_DECAY, MOMENTUM };

static void rmsprop_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    const double *parameter = inputs[0], *gradient = inputs[1], *square = inputs[3];
    const double *buffer = ons_has_input(o, ONS_STATE_IN + 1) ? inputs[ONS_STATE_IN + 1] : NULL;
    double *new_parameter = outputs[0], *new_square = outputs[1];
    double alpha = ons_attribute_float(o, ALPHA), decay = ons_attribute_float(o, WEIGHT_DECAY);
    if (ons_reference_skips(o, inputs, outputs)) return;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) {
        double g = gradient[i] * ons_reference_factor(o, inputs) + decay * parameter[i];
        new_square[i] = alpha * square[i] + (1 - alpha) * g * g;
        double change = g / (sqrt(new_square[i]) + ons_attribute_float(o, EPSILON));
        if (buffer != NULL) {
            change += ons_attribute_float(o, MOMENTUM) * buffer[i];
            ((double *)outputs[2])[i] = change;
        }
        new_parameter[i] = parameter[i] - step->learning_rate * change;
    }
}

static void rmsprop_run(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *square = launch->inputs[3];
    float *new_parameter = launch->outputs[0], *new_square = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), decay = (float)state->numbers[WEIGHT_DECAY];
    float epsilon = (float)state->numbers[EPSILON], rate = launch->step->learning_rate;
    float alpha = (float)state->numbers[ALPHA], rest = (float)(1 - state->numbers[ALPHA]);
    int64_t n = state->elements;
    if (ons_optimizer_skips(launch)) return;
    if (state->states == 1) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) {
            float g = gradient[i] * factor + decay * parameter[i];
            float s = square[i] * alpha + g * g * rest;
            new_square[i] = s;
            new_parameter[i] = parameter[i] - rate * g / (sqrtf(s) + epsilon);
        }
        return;
    }
    const float *buffer = launch->inputs[ONS_STATE_IN + 1];
    float *new_buffer = launch->outputs[2], momentum = (float)state->numbers[MOMENTUM];
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + decay * parameter[i];
        float s = square[i] * alpha + g * g * rest;
        float b = buffer[i] * momentum + g / (sqrtf(s) + epsilon);
        new_square[i] = s;
        new_buffer[i] = b;
        new_parameter[i] = parameter[i] - rate * b;
    }
}

/* Factor and decay 3, average 4, root 2, quotient and step 3; with momentum 2 more. */
static ons_cost rmsprop_cost(const ons_operands *o) {
    return ons_optimizer_cost(o, ons_has_input(o, ONS_STATE_IN + 1) ? 14 : 12);
}

static const ons_case rmsprop_cases[] = {
    {.name = "plain",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 5, 7)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 420},
    {.name = "momentum",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32_IN(0.01, 1, 37), ONS_F32(37)},
     .settings = {ONS_SET_FLOAT("momentum", 0.9), ONS_SET_FLOAT("weight_decay", 0.1), ONS_SET_FLOAT("alpha", 0.9),
                  ONS_SET_FLOAT("eps", 1e-3)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 518},
    {.name = "rank0",
     .inputs = {ONS_F32(), ONS_F32(), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 12},
    {.name = "threads",
     .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 9, 5003)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 540324},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_LEFT_OUT, ONS_F32_IN(0.01, 1, 2048, 2048)},
     .outputs = 2,
     .tolerance = 2e-6,
     .flops = 50331648,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(rmsprop, "RmsProp", ONS_INTERNAL, ONS_ARITY(2, 5, 2, 3),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 0.99), ONS_FLOAT_ATTRIBUTE("eps", 1e-8),
                                   ONS_FLOAT_ATTRIBUTE("weight_decay", 0), ONS_FLOAT_ATTRIBUTE("momentum", 0)),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(rmsprop_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_RMSPROP, 0, 0), ONS_UPDATES_TWO_STATES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(rmsprop_reference), ONS_CPU_KERNEL(ons_optimizer_prepare, rmsprop_run),
                    ONS_CUDA_KERNEL_OF_SEVERAL(ons_optimizer_prepare, ons_cuda_rmsprop, ons_cuda_several_rmsprop),
                    rmsprop_cases);
