/* Gelu on the CPU. */
#include "kernels/gelu/gelu_formulas.h"

static void gelu_run(const ons_launch *launch) {
    const ons_unary_state *state = launch->state;
    ons_gelu_run(launch->inputs[0], launch->outputs[0], state->elements, state->parameters[0] != 0);
}

ONS_KERNELS(cpu, gelu, ONS_KERNEL(ons_gelu_prepare, gelu_run))
