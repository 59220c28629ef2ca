/* LinearAdd on the CPU. */
#include "kernels/linear/linear_add.h"

typedef struct linear_add_state {
    ons_gemm gemm; /* first: it is what destroy gets */
    uint32_t added;
} linear_add_state;

static ons_status *linear_add_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_gemm_form form = ons_linear_form(o);
    linear_add_state *state;
    ONS_NEW_STATE(state, p);
    state->added = ons_linear_added(o);
    form.adds = true;
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, state->added == 3, false, &state->gemm);
}

static void linear_add_run(const ons_launch *launch) {
    const linear_add_state *state = launch->state;
    ons_gemm_run_adding(&state->gemm, launch->inputs[0], launch->inputs[1],
                        state->added == 3 ? launch->inputs[2] : NULL, launch->inputs[state->added], launch->outputs[0],
                        launch);
}

ONS_KERNELS(cpu, linear_add, ONS_KERNEL(linear_add_prepare, linear_add_run))
