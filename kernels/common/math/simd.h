/* A register's width of floats at a time, for reductions along rows: a fixed number of lanes gives the same bits
 * whatever the alignment, and the rest of a row takes one partly filled set of lanes instead of a loop over single
 * elements.
 *
 * The width is that of the processor variant that the file is compiled for (kernels/kernels.h), and so are the bits: a
 * row is summed in as many parts as there are lanes. GCC's vector type does the arithmetic; what it has no operators
 * for (masked loads, maxima, scaling) are the processor's own instructions where it has them.
 */
#ifndef ONSTAGE_KERNELS_COMMON_MATH_SIMD_H
#define ONSTAGE_KERNELS_COMMON_MATH_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "kernels/common/math/vector_math.h"

#if defined(__AVX512F__)
#define ONS_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define ONS_REGISTER_BYTES 32
#else
#define ONS_REGISTER_BYTES 16
#endif

enum { ONS_SIMD_FLOATS = ONS_REGISTER_BYTES / sizeof(float) };
typedef float ons_simd_float __attribute__((vector_size(ONS_REGISTER_BYTES)));
typedef int32_t ons_simd_bits __attribute__((vector_size(ONS_REGISTER_BYTES)));
typedef uint32_t ons_simd_words __attribute__((vector_size(ONS_REGISTER_BYTES))); /* which may wrap */

static inline ons_simd_float ons_simd_all(float x) { return x - (ons_simd_float){0}; }

static inline ons_simd_float ons_simd_load(const float *from) {
    ons_simd_float x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void ons_simd_store(float *to, ons_simd_float x) { memcpy(to, &x, sizeof x); }

/* a where the lane of `mask` is all ones, b where it is all zeros. */
static inline ons_simd_float ons_simd_select(ons_simd_bits mask, ons_simd_float a, ons_simd_float b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    return _mm256_blendv_ps(b, a, (ons_simd_float)mask);
#else
    return (ons_simd_float)((mask & (ons_simd_bits)a) | (~mask & (ons_simd_bits)b));
#endif
}

/* Ones in the first `count` lanes. */
static inline ons_simd_bits ons_simd_first(int64_t count) {
    static const int32_t ones_then_zeros[2 * ONS_SIMD_FLOATS] = {
        -1,
        -1,
        -1,
        -1,
#if ONS_REGISTER_BYTES > 16
        -1,
        -1,
        -1,
        -1,
#endif
#if ONS_REGISTER_BYTES > 32
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
#endif
    };
    ons_simd_bits mask;
    memcpy(&mask, ones_then_zeros + ONS_SIMD_FLOATS - count, sizeof mask);
    return mask;
}

/* The first `count` (< ONS_SIMD_FLOATS) from memory, the others `rest`. */
static inline ons_simd_float ons_simd_load_some(const float *from, int64_t count, float rest) {
#if defined(__AVX512F__)
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), (__mmask16)((1u << count) - 1), from);
#elif defined(__AVX2__)
    ons_simd_bits mask = ons_simd_first(count);
    return ons_simd_select(mask, _mm256_maskload_ps(from, (__m256i)mask), ons_simd_all(rest));
#else
    float x[ONS_SIMD_FLOATS];
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) x[i] = i < count ? from[i] : rest;
    return ons_simd_load(x);
#endif
}

static inline void ons_simd_store_some(float *to, ons_simd_float x, int64_t count) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), x);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(to, (__m256i)ons_simd_first(count), x);
#else
    memcpy(to, &x, (size_t)count * sizeof(float));
#endif
}

/* Loads and stores the first `count` lanes; where that is ONS_SIMD_FLOATS, all, it should be a constant. */
static inline __attribute__((always_inline)) ons_simd_float ons_simd_load_first(const float *from, int64_t count) {
    return count == ONS_SIMD_FLOATS ? ons_simd_load(from) : ons_simd_load_some(from, count, 0);
}

static inline __attribute__((always_inline)) void ons_simd_store_first(float *to, ons_simd_float x, int64_t count) {
    if (count == ONS_SIMD_FLOATS)
        ons_simd_store(to, x);
    else
        ons_simd_store_some(to, x, count);
}

/* Calls `step` for all of `total` elements: `count` of them from `j` on. Compiled for each step. */
typedef void ons_simd_step(const void *argument, int64_t j, int64_t count);
static inline __attribute__((always_inline)) void ons_simd_each(int64_t total, ons_simd_step *step,
                                                                const void *argument) {
    int64_t done = 0;
    for (; done + ONS_SIMD_FLOATS <= total; done += ONS_SIMD_FLOATS) step(argument, done, ONS_SIMD_FLOATS);
    if (done < total) step(argument, done, total - done);
}

/* Where either is not a number: y. */
static inline ons_simd_float ons_simd_max(ons_simd_float x, ons_simd_float y) {
#if defined(__AVX512F__)
    return _mm512_max_ps(x, y);
#elif defined(__AVX2__)
    return _mm256_max_ps(x, y);
#elif defined(__SSE2__)
    return _mm_max_ps(x, y);
#else
    return ons_simd_select(x > y, x, y);
#endif
}

/* Some number where a lane is not a number. */
static inline float ons_simd_max_of(ons_simd_float x) {
#ifdef __AVX512F__
    return _mm512_reduce_max_ps(x);
#else
    for (int width = ONS_SIMD_FLOATS / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) x[i] = x[i + width] > x[i] ? x[i + width] : x[i];
    return x[0];
#endif
}

static inline float ons_simd_sum_of(ons_simd_float x) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(x);
#elif defined(__AVX2__)
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
#else
    for (int width = ONS_SIMD_FLOATS / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) x[i] += x[i + width];
    return x[0];
#endif
}

/* eˣ = 2ⁿ·eʳ by the polynomial of ons_exp: gives eʳ - 1, and n for ons_simd_power. */
static inline ons_simd_float ons_simd_exp_rest(ons_simd_float x, ons_simd_float *exponent) {
#ifdef __AVX512F__
    ons_simd_float n = _mm512_roundscale_ps(x * 0x1.715476p0f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *exponent = n;
#else
    const ons_simd_float rounder = ons_simd_all(0x1.8p23f); /* adding it leaves the nearest integer in the low bits */
    ons_simd_float shifted = x * 0x1.715476p0f + rounder, n = shifted - rounder;
    *exponent = shifted;
#endif
    ons_simd_float r = x - n * 0x1.62e4p-1f;
    r = r - n * 0x1.7f7d1cp-20f;
    ons_simd_float p = 0x1.6ceceap-10f * r + 0x1.12406ap-7f;
    p = p * r + 0x1.55552ap-5f;
    p = p * r + 0x1.555488p-3f;
    p = p * r + 0.5f;
    return p * (r * r) + r;
}

/* 2ⁿ for n from -126 to 127, by the exponent of ons_simd_exp_rest. */
static inline ons_simd_float ons_simd_power(ons_simd_float exponent) {
#ifdef __AVX512F__
    return _mm512_scalef_ps(_mm512_set1_ps(1), exponent);
#else
    return (ons_simd_float)(((ons_simd_words)exponent - (ons_simd_words)ons_simd_all(0x1.8p23f) + 127) << 23);
#endif
}

/* ons_exp of every lane, for x ≤ 88: the same polynomial. 0 below -87.3; NaN stays NaN. */
static inline ons_simd_float ons_simd_exp(ons_simd_float x) {
    ons_simd_float exponent, p = ons_simd_exp_rest(x, &exponent) + 1.0f;
#ifdef __AVX512F__
    __mmask16 keep = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.3f), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(keep, p, exponent);
#else
    ons_simd_bits gone = x < -87.3f;
    return (ons_simd_float)(~gone & (ons_simd_bits)(p * ons_simd_power(exponent)));
#endif
}

/* 2ˣ of every lane within 10⁻⁷ of it, for x < 127; 0 below -126; NaN stays NaN. As 2 to the power of x · log₂ e it is
 * less work than ons_simd_exp, where the rounding of that product, |x| · 10⁻⁷, does not matter. */
static inline ons_simd_float ons_simd_exp2(ons_simd_float x) {
#ifdef __AVX512DQ__
    __mmask16 keep = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
    ons_simd_float r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); /* from 0 to 1 */
    ons_simd_float p = 0x1.c72118p-13f * r + 0x1.461954p-10f;
    p = p * r + 0x1.3d2800p-7f;
    p = p * r + 0x1.c68500p-5f;
    p = p * r + 0x1.ebfd9ep-3f;
    p = p * r + 0x1.62e42ap-1f;
    p = p * r + 1.0f;
    return _mm512_maskz_scalef_ps(keep, p, x);
#else
    /* Adding it leaves the nearest integer, and an exponent's 127, in the low bits. */
    const ons_simd_float rounder = ons_simd_all(0x1.8p23f + 127);
    ons_simd_bits gone = x < -126.0f;
    ons_simd_float shifted = x + rounder, r = x - (shifted - rounder); /* from -½ to ½ */
    ons_simd_float p = 0x1.41d334p-13f * r + 0x1.5f456ap-10f;
    p = p * r + 0x1.3b2dbcp-7f;
    p = p * r + 0x1.c6aed4p-5f;
    p = p * r + 0x1.ebfbdap-3f;
    p = p * r + 0x1.62e430p-1f;
    p = p * r + 1.0f;
    ons_simd_float power = (ons_simd_float)((ons_simd_words)shifted << 23);
    return (ons_simd_float)(~gone & (ons_simd_bits)(p * power));
#endif
}

/* ons_log of every lane: the same polynomial. */
static inline ons_simd_float ons_simd_log(ons_simd_float x) {
    ons_simd_bits tiny = x < 0x1p-126f;
    ons_simd_words word = (ons_simd_words)ons_simd_select(tiny, x * 0x1p23f, x);
    ons_simd_bits bits = (ons_simd_bits)(word - 0x3f3504f3); /* √½ becomes a power of two */
    ons_simd_float e = __builtin_convertvector((bits >> 23) - (tiny & 23), ons_simd_float);
    ons_simd_float f = (ons_simd_float)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    ons_simd_float p = 0x1.ae6466p-5f * f - 0x1.bd2e9ep-4f;
    p = p * f + 0x1.f0930cp-4f;
    p = p * f - 0x1.013808p-3f;
    p = p * f + 0x1.22ff6ap-3f;
    p = p * f - 0x1.552bd2p-3f;
    p = p * f + 0x1.99a54ep-3f;
    p = p * f - 0x1.000078p-2f;
    p = p * f + 0x1.555548p-2f;
    ons_simd_float square = f * f, tail = p * (square * f) + e * 0x1.7f7d1cp-20f;
    ons_simd_float y = (f + (tail - 0.5f * square)) + e * 0x1.62e4p-1f;
    y = ons_simd_select(x < INFINITY, y, x); /* also what is not a number */
    y = ons_simd_select(x == 0.0f, ons_simd_all(-INFINITY), y);
    return ons_simd_select(x < 0.0f, ons_simd_all(NAN), y);
}

static inline ons_simd_float ons_simd_absolute(ons_simd_float x) {
    return (ons_simd_float)((ons_simd_bits)x & 0x7fffffff);
}

/* 1 / (1 + e⁻ˣ) of every lane; 0 below -87.3, where it is less than 10⁻³⁷; NaN stays NaN. */
static inline ons_simd_float ons_simd_sigmoid(ons_simd_float x) {
    ons_simd_bits gone = x < -87.3f;
    ons_simd_float exponent, p = ons_simd_exp_rest(ons_simd_max(ons_simd_all(-87.3f), -x), &exponent);
    ons_simd_float power = ons_simd_power(exponent); /* 2ⁿ of e⁻ˣ */
    return (ons_simd_float)(~gone & (ons_simd_bits)(1.0f / (p * power + (power + 1.0f))));
}

/* ons_tanh of every lane. */
static inline ons_simd_float ons_simd_tanh(ons_simd_float x) {
    ons_simd_float t = ons_simd_absolute(x), exponent;
    ons_simd_float rest = ons_simd_exp_rest(-ons_simd_max(ons_simd_all(-88), -2.0f * t), &exponent);
    ons_simd_float power = ons_simd_power(exponent);
    ons_simd_float large = 1.0f - 2.0f / (rest * power + (power + 1.0f)), u = x * x; /* 1 - 2 / (e²ᵗ + 1) */
    ons_simd_float p = u * -0x1.767a14p-8f + 0x1.524c40p-6f;
    p = p * u - 0x1.b842c4p-5f;
    p = p * u + 0x1.11075ep-3f;
    p = p * u - 0x1.555534p-2f;
    ons_simd_float y = ons_simd_select(t < 0.625f, t + t * (u * p), large);
    return (ons_simd_float)((ons_simd_bits)y | ((ons_simd_bits)x & INT32_MIN));
}

/* The normal distribution: *density = φ(x), and Φ(x) is returned. Precise in the lower tail, which 1 + erf is not: half
 * of erfc is e^(-t²) times a polynomial in 1 / (1 + 0.45 t), t = |x| / √2. What is below 10⁻³⁸ is 0. */
static inline ons_simd_float ons_simd_normal(ons_simd_float x, ons_simd_float *density) {
    ons_simd_float gauss = ons_simd_exp(-0.5f * (x * x));
    ons_simd_float w = 1.0f / (1.0f + 0x1.45d5b6p-2f * ons_simd_absolute(x)); /* 0.45 / √2 */
    ons_simd_float p = w * -0x1.53260cp-6f + 0x1.869b8ap-4f;
    p = p * w - 0x1.33de2ap-3f;
    p = p * w + 0x1.23c704p-4f;
    p = p * w - 0x1.6ef60cp-7f;
    p = p * w + 0x1.eb5f7ep-5f;
    p = p * w + 0x1.66e928p-4f;
    p = p * w + 0x1.d3803cp-4f;
    p = p * w + 0x1.03f9f2p-3f;
    p = p * w + 0x1.03fa84p-3f;
    ons_simd_float tail = gauss * (p * w);
    *density = gauss * 0x1.988454p-2f; /* 1 / √(2π) */
    return ons_simd_select(x < 0.0f, tail, 1.0f - tail);
}

/* A register of doubles; two hold the lanes of an ons_simd_float. */
typedef double ons_simd_double __attribute__((vector_size(ONS_REGISTER_BYTES)));
typedef struct ons_simd_double_pair {
    ons_simd_double half[2];
} ons_simd_double_pair;

static inline ons_simd_double_pair ons_simd_widen(ons_simd_float x) {
#if defined(__AVX512F__)
    __m256 above = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
    return (ons_simd_double_pair){{_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(above)}};
#elif defined(__AVX2__)
    return (ons_simd_double_pair){
        {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))}};
#elif defined(__SSE2__)
    return (ons_simd_double_pair){{_mm_cvtps_pd(x), _mm_cvtps_pd(_mm_movehl_ps(x, x))}};
#else
    typedef float half __attribute__((vector_size(ONS_REGISTER_BYTES / 2)));
    half part[2];
    memcpy(part, &x, sizeof part);
    return (ons_simd_double_pair){
        {__builtin_convertvector(part[0], ons_simd_double), __builtin_convertvector(part[1], ons_simd_double)}};
#endif
}

#endif
