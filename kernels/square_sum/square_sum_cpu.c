/* SquareSum on the CPU. */
#include "kernels/common/rows/rows.h"

typedef struct square_sum_state {
    int64_t elements;
    int parts;
} square_sum_state;

static ons_status *square_sum_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    square_sum_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&p->operands->inputs[0]);
    state->parts = ons_parts(state->elements, 1);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

static double part_sum(const float *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void square_sum_run(const ons_launch *launch) {
    const square_sum_state *state = launch->state;
    const float *x = launch->inputs[0];
    double *sums = launch->scratch;
    int parts = state->parts;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(state->elements, parts, part);
        sums[part] = part_sum(x + begin, ons_part_begin(state->elements, parts, part + 1) - begin);
    }
    *(double *)launch->outputs[0] = ons_sum_parts(sums, parts);
}

ONS_KERNELS(cpu, square_sum, ONS_KERNEL(square_sum_prepare, square_sum_run))
