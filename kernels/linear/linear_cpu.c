/* Linear on the CPU. */
#include "kernels/linear/fully_connected.h"

static ons_status *linear_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32_of(o, &o->outputs[0]));
    ons_gemm_form form = ons_linear_form(o);
    ons_gemm *state;
    ONS_NEW_STATE(state, p);
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, true, false, state);
}

static void linear_run(const ons_launch *launch) {
    ons_gemm_run(launch->state, launch->inputs[0], launch->inputs[1], launch->inputs[2], 0, launch->outputs[0], launch);
}

ONS_KERNELS(cpu, linear, ONS_KERNEL(linear_prepare, linear_run))
