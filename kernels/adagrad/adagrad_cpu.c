/* Adagrad on the CPU. */
#include "kernels/adagrad/adagrad.h"

#include "kernels/optimizers/optimizer.h"

static void adagrad_run(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *sum = launch->inputs[3];
    float *new_parameter = launch->outputs[0], *new_sum = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), decay = (float)state->numbers[WEIGHT_DECAY];
    float epsilon = (float)state->numbers[EPSILON], rate = ons_optimizer_rate(launch->state, launch->step);
    int64_t n = state->elements;
    if (ons_optimizer_skips(launch)) return;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + decay * parameter[i];
        float s = sum[i] + g * g;
        new_sum[i] = s;
        new_parameter[i] = parameter[i] - rate * g / (sqrtf(s) + epsilon);
    }
    ons_optimizer_write_half(launch);
}

ONS_KERNELS(cpu, adagrad, ONS_KERNEL(ons_optimizer_prepare, adagrad_run))
