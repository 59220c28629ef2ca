/* RmsProp on the CPU. */
#include "kernels/rmsprop/rmsprop.h"

#include "kernels/optimizers/optimizer.h"

static void run_update(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *square = launch->inputs[3];
    float *new_parameter = launch->outputs[0], *new_square = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), decay = (float)state->numbers[WEIGHT_DECAY];
    float epsilon = (float)state->numbers[EPSILON], rate = ons_optimizer_rate(launch->state, launch->step);
    float alpha = (float)state->numbers[ALPHA], rest = (float)(1 - state->numbers[ALPHA]);
    int64_t n = state->elements;
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

static void rmsprop_run(const ons_launch *launch) {
    if (ons_optimizer_skips(launch)) return;
    run_update(launch);
    ons_optimizer_write_half(launch);
}

ONS_KERNELS(cpu, rmsprop, ONS_KERNEL(ons_optimizer_prepare, rmsprop_run))
