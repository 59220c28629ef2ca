/* What the CPU runs of gelu_formulas.h. */
#include "kernels/gelu/gelu_formulas.h"

#include "kernels/common/elementwise/simd_formula.h"

ons_status *ons_gelu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- formulas */

static inline ons_simd_float by_normal(ons_simd_float x) {
    ons_simd_float density;
    return x * ons_simd_normal(x, &density);
}

static inline ons_simd_float slope_by_normal(ons_simd_float x) {
    ons_simd_float density, below = ons_simd_normal(x, &density);
    return below + x * density;
}

/* (1 + tanh u) / 2 is the sigmoid of 2u. */
static inline ons_simd_float sigmoid_of(ons_simd_float x) {
    return ons_simd_sigmoid((float)(2 * ONS_GELU_SCALE) * (x + (float)ONS_GELU_CUBE * (x * x * x)));
}

static inline ons_simd_float by_sigmoid(ons_simd_float x) { return x * sigmoid_of(x); }

/* Where s is 0 or 1 so is the slope; the product would be 0·∞ far out. */
static inline ons_simd_float sigmoid_slope(ons_simd_float x, ons_simd_float s) {
    ons_simd_float flat = s * (1 - s);
    ons_simd_float turn = (float)(2 * ONS_GELU_SCALE) * (1 + (float)(3 * ONS_GELU_CUBE) * (x * x));
    return s + (ons_simd_float)((flat != 0) & (ons_simd_bits)(x * flat * turn));
}

static inline ons_simd_float slope_by_sigmoid(ons_simd_float x) { return sigmoid_slope(x, sigmoid_of(x)); }

/* Gelu and its slope of one argument, as the functions above have them. */
typedef void both(ons_simd_float x, ons_simd_float *value, ons_simd_float *slope);

static inline void both_by_normal(ons_simd_float x, ons_simd_float *value, ons_simd_float *slope) {
    ons_simd_float density, below = ons_simd_normal(x, &density);
    *value = x * below;
    *slope = below + x * density;
}

static inline void both_by_sigmoid(ons_simd_float x, ons_simd_float *value, ons_simd_float *slope) {
    ons_simd_float s = sigmoid_of(x);
    *value = x * s;
    *slope = sigmoid_slope(x, s);
}

/* ------------------------------------------------------------------------------------------------------------- runs */

/* One block. dy is read by slopes alone, and `again` written by the functions that make both. */
typedef void span(const float *dy, const float *x, float *out, float *again, int64_t count);

#define SPAN(NAME) static void NAME(const float *dy, const float *x, float *out, float *again, int64_t n)
SPAN(exact) { ons_simd_loop(NULL, x, out, n, by_normal); }
SPAN(tanh_form) { ons_simd_loop(NULL, x, out, n, by_sigmoid); }
SPAN(exact_slope) { ons_simd_loop(dy, x, out, n, slope_by_normal); }
SPAN(tanh_slope) { ons_simd_loop(dy, x, out, n, slope_by_sigmoid); }

static inline __attribute__((always_inline)) void both_at(const float *dy, const float *x, float *dx, float *again,
                                                          int64_t i, int64_t count, both *function) {
    ons_simd_float value, slope;
    function(ons_simd_load_first(x + i, count), &value, &slope);
    slope *= ons_simd_load_first(dy + i, count);
    ons_simd_store_first(dx + i, slope, count);
    ons_simd_store_first(again + i, value, count);
}

static inline __attribute__((always_inline)) void both_loop(const float *dy, const float *x, float *dx, float *again,
                                                            int64_t count, both *function) {
    int64_t whole = count / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS;
    for (int64_t i = 0; i < whole; i += ONS_SIMD_FLOATS) {
        ons_simd_ahead(dy, x, again, i);
        both_at(dy, x, dx, again, i, ONS_SIMD_FLOATS, function);
    }
    if (whole < count) both_at(dy, x, dx, again, whole, count - whole, function);
}

SPAN(exact_both) { both_loop(dy, x, out, again, n, both_by_normal); }
SPAN(tanh_both) { both_loop(dy, x, out, again, n, both_by_sigmoid); }

static void share(span *function, const float *dy, const float *x, float *out, float *again, int64_t count) {
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) if (count > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < count; i += BLOCK)
        function(dy + i, x + i, out + i, again + i, count - i < BLOCK ? count - i : BLOCK);
}

void ons_gelu_run(const float *x, float *y, int64_t count, bool by_tanh) {
    share(by_tanh ? tanh_form : exact, x, x, y, y, count);
}

void ons_gelu_slope_run(const float *dy, const float *x, float *dx, float *again, int64_t count, bool by_tanh) {
    if (again == NULL)
        share(by_tanh ? tanh_slope : exact_slope, dy, x, dx, dx, count);
    else
        share(by_tanh ? tanh_both : exact_both, dy, x, dx, again, count);
}
