/* LinearWeightGradient on the CPU. */
#include "kernels/linear/linear_weight_gradient.h"

typedef struct linear_weight_gradient_state {
    ons_gemm gemm; /* first: it is what destroy gets */
    int64_t rows, columns;
    uint32_t summed;
} linear_weight_gradient_state;

static ons_status *linear_weight_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    linear_weight_gradient_state *state;
    ONS_NEW_STATE(state, p);
    state->summed = (uint32_t)ons_attribute_int(o, SUMMED);
    const ons_shape *x = &o->inputs[state->summed].shape;
    state->columns = x->dims[x->rank - 1];
    state->rows = ons_rows_before(x, x->rank - 1);
    return ons_gemm_prepare(p, &o->inputs[0].shape, &o->inputs[1].shape, &form, false, false, &state->gemm);
}

enum { BLOCK = 64 };

/* Columns [first, first + count), row after row. */
static void add_columns(const linear_weight_gradient_state *s, const float *x, int64_t first, int64_t count,
                        float *sums) {
    double block[BLOCK] = {0};
    for (int64_t i = 0; i < s->rows; ++i)
        for (int64_t j = 0; j < count; ++j) block[j] += (double)x[i * s->columns + first + j];
    for (int64_t j = 0; j < count; ++j) sums[first + j] = (float)block[j];
}

static void linear_weight_gradient_run(const ons_launch *launch) {
    const linear_weight_gradient_state *s = launch->state;
    ons_gemm_run(&s->gemm, launch->inputs[0], launch->inputs[1], NULL, 0, launch->outputs[0], launch);
    const float *x = launch->inputs[s->summed];
    float *sums = launch->outputs[1];
#pragma omp parallel for schedule(static) if (s->rows * s->columns > ONS_PARALLEL_GRAIN)
    for (int64_t first = 0; first < s->columns; first += BLOCK)
        add_columns(s, x, first, s->columns - first < BLOCK ? s->columns - first : BLOCK, sums);
}

ONS_KERNELS(cpu, linear_weight_gradient, ONS_KERNEL(linear_weight_gradient_prepare, linear_weight_gradient_run))
