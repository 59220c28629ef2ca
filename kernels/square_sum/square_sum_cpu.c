/* SquareSum on the CPU. The squares of floats are exact in double, and every sum keeps what its rounding lost; what is
 * lost of that lies far below the result's last bit. So the order in which elements lie leaves no trace: a gradient has
 * one norm, in whatever layout and vectors. */
#include <math.h>
#include <string.h>

#include "kernels/common/rows/rows.h"

#ifdef __AVX512F__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

typedef struct square_sum_state {
    int64_t elements;
    int parts;
} square_sum_state;

/* `high` + `low`, a sum and what its roundings lost. */
typedef struct exact_sum {
    double high, low;
} exact_sum;

static ons_status *square_sum_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    square_sum_state *state;
    ONS_NEW_STATE(state, p);
    state->elements = ons_elements(&p->operands->inputs[0]);
    state->parts = ons_parts(state->elements, 1);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(exact_sum);
    return NULL;
}

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow_lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Knuth's sum: what `high` loses goes to `low`; of numbers and of vectors. */
#define ADD(high, low, summand)                                                                                        \
    do {                                                                                                               \
        __auto_type sum_ = (high) + (summand);                                                                         \
        __auto_type part_ = sum_ - (high);                                                                             \
        (low) += ((high) - (sum_ - part_)) + ((summand)-part_);                                                        \
        (high) = sum_;                                                                                                 \
    } while (0)

static void join(exact_sum *sum, exact_sum other) {
    ADD(sum->high, sum->low, other.high);
    sum->low += other.low;
}

static exact_sum part_sum(const float *x, int64_t n) {
    enum { VECTORS = 4 }; /* so that one can wait for the sums of the others */
    lanes high[VECTORS] = {{0}}, low[VECTORS] = {{0}};
    int64_t i = 0;
    for (; i + VECTORS * LANES <= n; i += VECTORS * LANES)
        for (int v = 0; v < VECTORS; ++v) {
            narrow_lanes narrow;
            memcpy(&narrow, x + i + v * LANES, sizeof narrow);
            lanes wide = __builtin_convertvector(narrow, lanes), square = wide * wide;
            ADD(high[v], low[v], square);
        }
    exact_sum sum = {0, 0};
    for (int v = 0; v < VECTORS; ++v)
        for (int k = 0; k < LANES; ++k) join(&sum, (exact_sum){high[v][k], low[v][k]});
    for (; i < n; ++i) join(&sum, (exact_sum){(double)x[i] * (double)x[i], 0});
    return sum;
}

static void square_sum_run(const ons_launch *launch) {
    const square_sum_state *state = launch->state;
    const float *x = launch->inputs[0];
    exact_sum *sums = launch->scratch;
    int parts = state->parts;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(state->elements, parts, part);
        sums[part] = part_sum(x + begin, ons_part_begin(state->elements, parts, part + 1) - begin);
    }
    exact_sum sum = sums[0];
    for (int part = 1; part < parts; ++part) join(&sum, sums[part]);
    /* Of an infinite or undefined sum nothing is left over but what is not a number. */
    *(double *)launch->outputs[0] = isfinite(sum.high) ? sum.high + sum.low : sum.high;
}

ONS_KERNELS(cpu, square_sum, ONS_KERNEL(square_sum_prepare, square_sum_run))
