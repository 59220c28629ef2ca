/* GeluGradient on the CPU. */
#include "kernels/gelu/gelu_formulas.h"

static void gelu_gradient_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    ons_gelu_slope_run(launch->inputs[0], launch->inputs[1], launch->outputs[0], launch->outputs[1], state->elements,
                       state->parameters[0] != 0);
}

ONS_KERNELS(cpu, gelu_gradient, ONS_KERNEL(ons_gelu_prepare, gelu_gradient_run))
