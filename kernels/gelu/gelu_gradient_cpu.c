/* GeluGradient on the CPU. */
#include "kernels/gelu/gelu_formulas.h"

static inline float exact_slope(float x) {
    float density;
    float below = ons_normal(x, &density);
    return below + x * density;
}

static void gelu_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    float *dx = launch->outputs[0];
    int64_t n = state->elements;
    if (state->parameters[0] != 0) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * ons_gelu_slope_by_sigmoid(x[i]);
    } else {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * exact_slope(x[i]);
    }
}

ONS_KERNELS(cpu, gelu_gradient, ONS_KERNEL(ons_gelu_prepare, gelu_gradient_run))
