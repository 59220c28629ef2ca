/* A formula of a register's width of floats at a time, for functions whose selections a compiler makes branches of
 * where it is given single floats. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_SIMD_FORMULA_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_SIMD_FORMULA_H

#include "kernels/common/math/simd.h"

typedef ons_simd_float ons_simd_formula(ons_simd_float x);

static inline __attribute__((always_inline)) void ons_simd_at(const float *factor, const float *in, float *out,
                                                              int64_t i, int64_t count, ons_simd_formula *formula) {
    ons_simd_float y = formula(ons_simd_load_first(in + i, count));
    if (factor != NULL) y *= ons_simd_load_first(factor + i, count);
    ons_simd_store_first(out + i, y, count);
}

/* What is to be read and written some iterations on. A formula's many instructions fill the processor's window, so that
 * it does not look as far ahead by itself as memory is away. Addresses behind the arrays do no harm. */
static inline __attribute__((always_inline)) void ons_simd_ahead(const float *factor, const float *in, float *out,
                                                                 int64_t i) {
    enum { AHEAD = 512 }; /* floats */
    __builtin_prefetch((const char *)in + (i + AHEAD) * (int64_t)sizeof(float), 0);
    if (factor != NULL) __builtin_prefetch((const char *)factor + (i + AHEAD) * (int64_t)sizeof(float), 0);
    if (out != in && out != factor) __builtin_prefetch((const char *)out + (i + AHEAD) * (int64_t)sizeof(float), 1);
}

/* out = formula(in), times `factor` where that is not NULL. All may be the same memory. Inlined, and the formula with
 * it. */
static inline __attribute__((always_inline)) void ons_simd_loop(const float *factor, const float *in, float *out,
                                                                int64_t count, ons_simd_formula *formula) {
    int64_t whole = count / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS;
    for (int64_t i = 0; i < whole; i += ONS_SIMD_FLOATS) {
        ons_simd_ahead(factor, in, out, i);
        ons_simd_at(factor, in, out, i, ONS_SIMD_FLOATS, formula);
    }
    if (whole < count) ons_simd_at(factor, in, out, whole, count - whole, formula);
}

#endif
