/* LinearAdd on the CPU. */
#include "kernels/linear/linear_add.h"

typedef struct linear_add_state {
    ons_gemm gemm; /* first: it is what destroy gets */
    int64_t elements;
    bool bias;
    uint32_t added;
} linear_add_state;

static ons_status *linear_add_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_gemm_form form = ons_linear_form(o);
    linear_add_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&o->outputs[0]);
    state->added = ons_linear_added(o);
    state->bias = state->added == 3;
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, state->bias, false, &state->gemm);
}

static void linear_add_run(const ons_launch *launch) {
    const linear_add_state *state = launch->state;
    const float *added = launch->inputs[state->added];
    float *y = launch->outputs[0];
    ons_gemm_run(&state->gemm, launch->inputs[0], launch->inputs[1], state->bias ? launch->inputs[2] : NULL, 0, y,
                 launch);
    for (int64_t i = 0; i < state->elements; ++i) y[i] += added[i];
}

ONS_KERNELS(cpu, linear_add, ONS_KERNEL(linear_add_prepare, linear_add_run))
