/* Gemm on the CPU. */
#include "kernels/gemm/gemm.h"

#include "kernels/common/gemm/gemm.h"

typedef struct gemm_state {
    ons_gemm gemm; /* first: it is what destroy gets */
    bool added;    /* C goes into the result first, and the product is added to it */
    bool bias;     /* C is a row vector and part of the product */
    steps steps;
    float beta;
} gemm_state;

static ons_status *gemm_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32_of(o, &o->outputs[0]));
    gemm_state *state;
    ONS_NEW_STATE(state, p);
    ons_gemm_form form = form_of(o);
    state->beta = (float)ons_attribute_float(o, BETA);
    if (ons_has_input(o, 2) && state->beta != 0) {
        const ons_shape *c = &o->inputs[2].shape;
        state->steps = steps_of(c);
        state->bias = c->rank > 0 && c->dims[c->rank - 1] == o->outputs[0].shape.dims[1] && state->steps.row == 0 &&
                      state->beta == 1 && form.alpha == 1;
        state->added = !state->bias;
    }
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, state->bias, state->added,
                            &state->gemm);
}

static void spread(const gemm_state *state, const float *c, float *y) {
    int64_t rows = state->gemm.sizes.m, columns = state->gemm.sizes.n;
    steps s = state->steps;
    float beta = state->beta;
#pragma omp parallel for schedule(static) if (rows * columns > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < rows; ++i) {
        const float *restrict from = c + i * s.row;
        float *restrict to = y + i * columns;
        if (s.column == 1)
            for (int64_t j = 0; j < columns; ++j) to[j] = beta * from[j];
        else
            for (int64_t j = 0; j < columns; ++j) to[j] = beta * from[0];
    }
}

static void gemm_run(const ons_launch *launch) {
    const gemm_state *state = launch->state;
    if (state->added) spread(state, launch->inputs[2], launch->outputs[0]);
    ons_gemm_run(&state->gemm, launch->inputs[0], launch->inputs[1], state->bias ? launch->inputs[2] : NULL,
                 state->added ? 1 : 0, launch->outputs[0], launch);
}

ONS_KERNELS(cpu, gemm, ONS_KERNEL(gemm_prepare, gemm_run))
