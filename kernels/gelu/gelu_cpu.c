/* Gelu on the CPU. */
#include "kernels/gelu/gelu_formulas.h"

static inline float by_normal(float x) {
    float density;
    return x * ons_normal(x, &density);
}

ONS_UNARY_SPAN(gelu_exact, float, float, float, by_normal(x))

ONS_UNARY_SPAN(gelu_tanh, float, float, float, ons_gelu_by_sigmoid(x))

static void gelu_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    ons_unary_run(launch, sizeof(float), sizeof(float), state->parameters[0] != 0 ? gelu_tanh : gelu_exact);
}

ONS_KERNELS(cpu, gelu, ONS_KERNEL(ons_gelu_prepare, gelu_run))
