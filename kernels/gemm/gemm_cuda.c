/* Gemm on CUDA: what the host works out. */
#include "kernels/gemm/gemm.h"

#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/common/gemm/gemm.h"

/* C goes into the result by a kernel of its own (gemm.cu) unless it is a row vector. */
static ons_status *gemm_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_gemm_node *state;
    ONS_NEW_STATE(state, p);
    ons_gemm_form form = form_of(o);
    bool bias = false;
    state->beta = (float)ons_attribute_float(o, BETA);
    if (ons_has_input(o, 2) && state->beta != 0) {
        const ons_shape *c = &o->inputs[2].shape;
        steps along = steps_of(c);
        bias = c->rank > 0 && c->dims[c->rank - 1] == o->outputs[0].shape.dims[1] && along.row == 0 && state->beta == 1;
        state->added = !bias;
        state->bias = bias;
        state->row = along.row;
        state->column = along.column;
    }
    state->rows = o->outputs[0].shape.dims[0];
    state->columns = o->outputs[0].shape.dims[1];
    return ons_cuda_gemm_plan(p, &form, bias ? ONS_CUDA_BIAS : ONS_CUDA_PLAIN, state->added, &state->gemm);
}

ONS_CUDA_KERNEL(gemm, gemm_cuda_prepare)
