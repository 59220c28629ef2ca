/* SquareSum on the CPU. The squares of floats are exact in double, and every sum keeps what its rounding lost; what is
 * lost of that lies far below the result's last bit. So the order in which elements lie leaves no trace: a gradient has
 * one norm, in whatever layout and vectors. */
#include <float.h>
#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "kernels/common/rows/rows.h"

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
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
#ifndef __AVX512F__
typedef float narrow_lanes __attribute__((vector_size(LANES * sizeof(float))));
#endif

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

/* So many vectors at a time that one can wait for the sums of the others; blocks of so many elements begin sums anew,
 * and the first elements say what size is to be expected. */
enum { VECTORS = 4, STRIDE = VECTORS * LANES, BLOCK = 2048, FIRST = 32 };

typedef struct vector_sums {
    lanes high[VECTORS], low[VECTORS];
} vector_sums;

static inline void square(const float *x, lanes *result) {
#ifdef __AVX512F__
    lanes wide = _mm512_cvtps_pd(_mm256_loadu_ps(x)); /* which GCC makes two of, and three more to join them */
#else
    narrow_lanes narrow;
    memcpy(&narrow, x, sizeof narrow);
    lanes wide = __builtin_convertvector(narrow, lanes);
#endif
    *result = wide * wide;
}

static double total_of(const vector_sums *sums) {
    double total = 0;
    for (int v = 0; v < VECTORS; ++v)
        for (int k = 0; k < LANES; ++k) total += sums->high[v][k];
    return total;
}

static void add_any(vector_sums *sums, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i += STRIDE)
        for (int v = 0; v < VECTORS; ++v) {
            lanes summand;
            square(x + i + v * LANES, &summand);
            ADD(sums->high[v], sums->low[v], summand);
        }
}

/* What a sum loses takes half of Knuth's operations where no summand is larger (Dekker). Sums begin with `above`, so
 * that this is known beforehand; one that was larger after all has at least doubled it. Returns false where that or
 * infinity or NaN is met, and has then added nothing. */
static bool add_below(vector_sums *sums, double above, const float *x) {
    lanes high[VECTORS], low[VECTORS] = {{0}}, begin = (lanes){0} + above;
    for (int v = 0; v < VECTORS; ++v) high[v] = begin;
    for (int64_t i = 0; i < BLOCK; i += STRIDE)
        for (int v = 0; v < VECTORS; ++v) {
            lanes summand;
            square(x + i + v * LANES, &summand);
            lanes sum = high[v] + summand;
            low[v] += summand - (sum - high[v]);
            high[v] = sum;
        }
    for (int v = 0; v < VECTORS; ++v)
        for (int k = 0; k < LANES; ++k)
            if (!(high[v][k] < 2 * above)) return false;
    for (int v = 0; v < VECTORS; ++v) {
        ADD(sums->high[v], sums->low[v], high[v] - begin);
        sums->low[v] += low[v];
    }
    return true;
}

static exact_sum part_sum(const float *x, int64_t n) {
    vector_sums sums = {{{0}}, {{0}}};
    double above = 0; /* far above what comes, as a rule, and not so far that more than it was to be would be lost */
    for (int64_t k = 0; k < n && k < FIRST; ++k) above += 65536 * ((double)x[k] * (double)x[k]);
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        if (!add_below(&sums, above, x + i)) {
            add_any(&sums, x + i, BLOCK);
            above = fmax(65536 * total_of(&sums), DBL_MIN);
        }
    int64_t left = (n - i) / STRIDE * STRIDE;
    add_any(&sums, x + i, left);
    i += left;
    exact_sum sum = {0, 0};
    for (int v = 0; v < VECTORS; ++v)
        for (int k = 0; k < LANES; ++k) join(&sum, (exact_sum){sums.high[v][k], sums.low[v][k]});
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
