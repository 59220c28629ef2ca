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

static inline ons_simd_float slope_by_sigmoid(ons_simd_float x) {
    ons_simd_float s = sigmoid_of(x), flat = s * (1 - s);
    ons_simd_float turn = (float)(2 * ONS_GELU_SCALE) * (1 + (float)(3 * ONS_GELU_CUBE) * (x * x));
    /* Where s is 0 or 1 so is the slope; the product would be 0·∞ far out. */
    return s + (ons_simd_float)((flat != 0) & (ons_simd_bits)(x * flat * turn));
}

/* ------------------------------------------------------------------------------------------------------------- runs */

typedef void span(const float *dy, const float *x, float *out, int64_t count);

static void exact(const float *dy, const float *x, float *y, int64_t n) { ons_simd_loop(NULL, x, y, n, by_normal); }
static void tanh_form(const float *dy, const float *x, float *y, int64_t n) {
    ons_simd_loop(NULL, x, y, n, by_sigmoid);
}
static void exact_slope(const float *dy, const float *x, float *dx, int64_t n) {
    ons_simd_loop(dy, x, dx, n, slope_by_normal);
}
static void tanh_slope(const float *dy, const float *x, float *dx, int64_t n) {
    ons_simd_loop(dy, x, dx, n, slope_by_sigmoid);
}

static void share(span *function, const float *dy, const float *x, float *out, int64_t count) {
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) if (count > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < count; i += BLOCK)
        function(dy != NULL ? dy + i : NULL, x + i, out + i, count - i < BLOCK ? count - i : BLOCK);
}

void ons_gelu_run(const float *x, float *y, int64_t count, bool by_tanh) {
    share(by_tanh ? tanh_form : exact, NULL, x, y, count);
}

void ons_gelu_slope_run(const float *dy, const float *x, float *dx, int64_t count, bool by_tanh) {
    share(by_tanh ? tanh_slope : exact_slope, dy, x, dx, count);
}
