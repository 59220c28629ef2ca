/* MatMul on the CPU. */
#include "kernels/matmul/matmul.h"

#include "kernels/common/gemm/gemm.h"

static ons_status *matmul_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32_of(o, &o->outputs[0]));
    ons_gemm *state;
    ONS_NEW_STATE(state, p);
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &plain, false, false, state);
}

static void matmul_run(const ons_launch *launch) {
    ons_gemm_run(launch->state, launch->inputs[0], launch->inputs[1], NULL, 0, launch->outputs[0], launch);
}

ONS_KERNELS(cpu, matmul, ONS_KERNEL(matmul_prepare, matmul_run))
