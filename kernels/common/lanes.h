/* Sixteen floats at a time, for reductions along rows: a fixed number of lanes gives the same bits whatever the
 * alignment, and the rest of a row takes one partly filled set of lanes instead of a loop over single elements.
 *
 * GCC's vector type does the arithmetic (two or four registers where a machine's are narrower); AVX-512 has the masked
 * loads, maxima and scaling that the type has no operators for.
 */
#ifndef ONSTAGE_KERNELS_COMMON_LANES_H
#define ONSTAGE_KERNELS_COMMON_LANES_H

#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "kernels/common/vector_math.h"

enum { ONS_LANES = 16 };
typedef float ons_lanes __attribute__((vector_size(ONS_LANES * sizeof(float))));

static inline ons_lanes ons_lanes_all(float x) { return x - (ons_lanes){0}; }

static inline ons_lanes ons_lanes_load(const float *from) {
    ons_lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void ons_lanes_store(float *to, ons_lanes x) { memcpy(to, &x, sizeof x); }

/* The first `count` (< ONS_LANES) from memory, the others `rest`. */
static inline ons_lanes ons_lanes_load_some(const float *from, int64_t count, float rest) {
#ifdef __AVX512F__
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), (__mmask16)((1u << count) - 1), from);
#else
    ons_lanes x = ons_lanes_all(rest);
    memcpy(&x, from, (size_t)count * sizeof(float));
    return x;
#endif
}

static inline void ons_lanes_store_some(float *to, ons_lanes x, int64_t count) {
#ifdef __AVX512F__
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), x);
#else
    memcpy(to, &x, (size_t)count * sizeof(float));
#endif
}

/* Where either is not a number: y. */
static inline ons_lanes ons_lanes_max(ons_lanes x, ons_lanes y) {
#ifdef __AVX512F__
    return _mm512_max_ps(x, y);
#else
    for (int i = 0; i < ONS_LANES; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
    return y;
#endif
}

/* Some number where a lane is not a number. */
static inline float ons_lanes_max_of(ons_lanes x) {
#ifdef __AVX512F__
    return _mm512_reduce_max_ps(x);
#else
    for (int width = ONS_LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) x[i] = x[i + width] > x[i] ? x[i + width] : x[i];
    return x[0];
#endif
}

static inline float ons_lanes_sum_of(ons_lanes x) {
#ifdef __AVX512F__
    return _mm512_reduce_add_ps(x);
#else
    for (int width = ONS_LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) x[i] += x[i + width];
    return x[0];
#endif
}

/* ons_exp of every lane, for x ≤ 88: the same polynomial. 0 below -87.3; NaN stays NaN. */
static inline ons_lanes ons_lanes_exp(ons_lanes x) {
#ifdef __AVX512F__
    __mmask16 keep = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.3f), _CMP_NLT_UQ);
    ons_lanes n = _mm512_roundscale_ps(x * 0x1.715476p0f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    ons_lanes r = x - n * 0x1.62e4p-1f;
    r = r - n * 0x1.7f7d1cp-20f;
    ons_lanes p = 0x1.6ceceap-10f * r + 0x1.12406ap-7f;
    p = p * r + 0x1.55552ap-5f;
    p = p * r + 0x1.555488p-3f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    p = p + 1.0f;
    return _mm512_maskz_scalef_ps(keep, p, n);
#else
    for (int i = 0; i < ONS_LANES; ++i) x[i] = ons_exp(x[i]);
    return x;
#endif
}

/* The same lanes as doubles. */
typedef double ons_half_lanes __attribute__((vector_size(ONS_LANES / 2 * sizeof(double))));
typedef struct ons_wide_lanes {
    ons_half_lanes half[2];
} ons_wide_lanes;

static inline ons_wide_lanes ons_wide_lanes_of(ons_lanes x) {
#ifdef __AVX512F__
    __m256 above = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
    return (ons_wide_lanes){{_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(above)}};
#else
    typedef float half __attribute__((vector_size(ONS_LANES / 2 * sizeof(float))));
    half part[2];
    memcpy(part, &x, sizeof part);
    return (ons_wide_lanes){
        {__builtin_convertvector(part[0], ons_half_lanes), __builtin_convertvector(part[1], ons_half_lanes)}};
#endif
}

#endif
