/* Sgd on the CPU. */
#include "kernels/sgd/sgd.h"

#include "kernels/optimizers/optimizer.h"

static void run_plain(const ons_launch *launch, int64_t n, float decay) {
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1];
    float *new_parameter = launch->outputs[0];
    float factor = ons_optimizer_factor(launch), rate = ons_optimizer_rate(launch->state, launch->step);
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i)
        new_parameter[i] = parameter[i] - rate * (gradient[i] * factor + decay * parameter[i]);
}

/* The step is straight × g + along × b: torch's (nesterov) 1, momentum or (plain) 0, 1. */
static void run_momentum(const ons_launch *launch, int64_t n, float decay, float momentum, float straight,
                         float along) {
    const float *parameter = launch->inputs[0], *gradient = launch->inputs[1], *buffer = launch->inputs[ONS_STATE_IN];
    float *new_parameter = launch->outputs[0], *new_buffer = launch->outputs[1];
    float factor = ons_optimizer_factor(launch), rate = ons_optimizer_rate(launch->state, launch->step);
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) {
        float g = gradient[i] * factor + decay * parameter[i];
        float b = buffer[i] * momentum + g;
        new_buffer[i] = b;
        new_parameter[i] = parameter[i] - rate * (straight * g + along * b);
    }
}

static void sgd_run(const ons_launch *launch) {
    const ons_optimizer *state = launch->state;
    float decay = (float)state->numbers[WEIGHT_DECAY], momentum = (float)state->numbers[MOMENTUM];
    if (ons_optimizer_skips(launch)) return;
    if (state->states == 0)
        run_plain(launch, state->elements, decay);
    else if (state->numbers[NESTEROV] != 0)
        run_momentum(launch, state->elements, decay, momentum, 1, momentum);
    else
        run_momentum(launch, state->elements, decay, momentum, 0, 1);
    ons_optimizer_write_half(launch);
}

ONS_KERNELS(cpu, sgd, ONS_KERNEL(ons_optimizer_prepare, sgd_run))
