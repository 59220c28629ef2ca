/* LinearGeluGradient on the CPU. */
#include "kernels/gelu/gelu_formulas.h"
#include "kernels/linear/fully_connected.h"

typedef struct linear_gelu_gradient_state {
    ons_gemm gemm; /* first: it is what destroy gets */
    int64_t elements;
} linear_gelu_gradient_state;

static ons_status *linear_gelu_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_gemm_form form = ons_linear_form(o);
    linear_gelu_gradient_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&o->outputs[0]);
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, false, false, &state->gemm);
}

static void linear_gelu_gradient_run(const ons_launch *launch) {
    const linear_gelu_gradient_state *state = launch->state;
    float *dx = launch->outputs[0];
    ons_gemm_run(&state->gemm, launch->inputs[0], launch->inputs[1], NULL, 0, dx, launch);
    ons_gelu_slope_run(dx, launch->inputs[2], dx, NULL, state->elements, true);
}

ONS_KERNELS(cpu, linear_gelu_gradient, ONS_KERNEL(linear_gelu_gradient_prepare, linear_gelu_gradient_run))
