/* A register's width of channels at a time for the pooling kernels, the last ones of a row in a partly filled set. */
#ifndef ONSTAGE_KERNELS_POOLING_POOLING_SIMD_H
#define ONSTAGE_KERNELS_POOLING_POOLING_SIMD_H

#include "kernels/common/math/simd.h"

typedef ons_simd_bits ons_simd_int;
typedef uint8_t ons_simd_byte __attribute__((vector_size(ONS_SIMD_FLOATS)));

/* `count` from 1 to ONS_SIMD_FLOATS; the others are 0. With a constant count of ONS_SIMD_FLOATS the choice disappears.
 */
static inline ons_simd_float ons_take(const float *from, int count) {
    return count == ONS_SIMD_FLOATS ? ons_simd_load(from) : ons_simd_load_some(from, count, 0);
}

static inline void ons_put(float *to, ons_simd_float x, int count) {
    if (count == ONS_SIMD_FLOATS)
        ons_simd_store(to, x);
    else
        ons_simd_store_some(to, x, count);
}

static inline ons_simd_int ons_take_bytes(const uint8_t *from, int count) {
    ons_simd_byte bytes = {0};
    if (count == ONS_SIMD_FLOATS)
        memcpy(&bytes, from, sizeof bytes);
    else
#ifdef __AVX512BW__
        bytes = (ons_simd_byte)_mm_maskz_loadu_epi8((__mmask16)((1u << count) - 1), from);
#else
        memcpy(&bytes, from, (size_t)count);
#endif
#ifdef __AVX512F__
    return (ons_simd_int)_mm512_cvtepu8_epi32((__m128i)bytes);
#else
    return __builtin_convertvector(bytes, ons_simd_int);
#endif
}

static inline void ons_put_bytes(uint8_t *to, ons_simd_int x, int count) {
#ifdef __AVX512F__
    ons_simd_byte bytes = (ons_simd_byte)_mm512_cvtepi32_epi8((__m512i)x);
#else
    ons_simd_byte bytes = __builtin_convertvector(x, ons_simd_byte);
#endif
    if (count == ONS_SIMD_FLOATS)
        memcpy(to, &bytes, sizeof bytes);
    else
#ifdef __AVX512BW__
        _mm_mask_storeu_epi8(to, (__mmask16)((1u << count) - 1), (__m128i)bytes);
#else
        memcpy(to, &bytes, (size_t)count);
#endif
}

static inline ons_simd_int ons_take_ints(const int32_t *from, int count) {
    ons_simd_int x = {0};
    memcpy(&x, from, (size_t)count * sizeof(int32_t));
    return x;
}

static inline void ons_put_ints(int32_t *to, ons_simd_int x, int count) {
    memcpy(to, &x, (size_t)count * sizeof(int32_t));
}

/* Lanes of `yes` where the mask is all ones, of `no` where it is 0. */
static inline ons_simd_float ons_simd_choose(ons_simd_int mask, ons_simd_float yes, ons_simd_float no) {
    return ons_simd_select(mask, yes, no);
}
static inline ons_simd_int ons_choose_ints(ons_simd_int mask, ons_simd_int yes, ons_simd_int no) {
    return (mask & yes) | (~mask & no);
}

/* `x` in the lanes where both are equal, 0 elsewhere. */
static inline ons_simd_float ons_where_equal(ons_simd_int a, int32_t b, ons_simd_float x) {
#ifdef __AVX512F__
    return _mm512_maskz_mov_ps(_mm512_cmpeq_epi32_mask((__m512i)a, _mm512_set1_epi32(b)), x);
#else
    return ons_simd_choose(a == b, x, (ons_simd_float){0});
#endif
}

#endif
