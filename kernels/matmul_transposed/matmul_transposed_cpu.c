/* MatMulTransposed on the CPU. */
#include "kernels/matmul_transposed/matmul_transposed.h"

#include "kernels/common/gemm/gemm.h"

static ons_status *matmul_transposed_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32_of(o, &o->outputs[0]));
    ons_gemm_form form = form_of(o);
    ons_gemm *state;
    ONS_NEW_STATE(state, p);
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, false, false, state);
}

static void matmul_transposed_run(const ons_launch *launch) {
    ons_gemm_run(launch->state, launch->inputs[0], launch->inputs[1], NULL, 0, launch->outputs[0], launch);
}

ONS_KERNELS(cpu, matmul_transposed, ONS_KERNEL(matmul_transposed_prepare, matmul_transposed_run))
