/* ClipGradient on the CPU. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

static void clip_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    const float *minimum = ons_unary_input(launch, 2), *maximum = ons_unary_input(launch, 3);
    float low = minimum == NULL ? -INFINITY : *minimum, high = maximum == NULL ? INFINITY : *maximum;
    float *dx = launch->outputs[0];
    int64_t n = state->elements;
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) dx[i] = ((x[i] > low) & (x[i] < high)) ? dy[i] : 0.0f;
}

ONS_KERNELS(cpu, clip_gradient, ONS_KERNEL(ons_unary_prepare, clip_gradient_run))
