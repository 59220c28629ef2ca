/* exp, log, tanh, erf, sigmoid, sine and cosine in float, without branches, so that the compiler turns the loops that
 * call them into vector code. Errors are at most about 2 units in the last place over the whole range; infinities, NaN,
 * overflow and denormals come out as in libm. tests/rooms/kernels measures all of them against libm in double.
 *
 * Polynomials are minimax fits of our own (Remez), their coefficients rounded to float one after the other, the rest
 * refitted each time. Selections are written as `condition ? a : b` over values that are both computed.
 */
#ifndef ONSTAGE_KERNELS_COMMON_MATH_VECTOR_MATH_H
#define ONSTAGE_KERNELS_COMMON_MATH_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t ons_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ons_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float ons_absolute(float x) { return ons_float_from_bits(ons_float_bits(x) & 0x7fffffffu); }

/* The magnitude of `x`, the sign of `sign`. */
static inline float ons_with_sign(float x, float sign) {
    return ons_float_from_bits((ons_float_bits(x) & 0x7fffffffu) | (ons_float_bits(sign) & 0x80000000u));
}

/* eˣ = 2ⁿ·eʳ with |r| ≤ ln 2 / 2: gives eʳ - 1, and 2ⁿ as a product of two, as n reaches from -150 to 128. */
static inline float ons_exp_parts(float x, float *first, float *second) {
    const float rounder = 0x1.8p23f; /* adding it leaves the nearest integer in the low bits */
    float clamped = x < -104.0f ? -104.0f : x;
    clamped = clamped > 89.0f ? 89.0f : clamped;
    float shifted = clamped * 0x1.715476p0f + rounder;
    int32_t n = (int32_t)(ons_float_bits(shifted) - ons_float_bits(rounder));
    float count = shifted - rounder;
    float r = clamped - count * 0x1.62e4p-1f; /* ln 2 in two parts; the product with the first is exact */
    r = r - count * 0x1.7f7d1cp-20f;
    int32_t half = n >> 1;
    *first = ons_float_from_bits((uint32_t)(half + 127) << 23);
    *second = ons_float_from_bits((uint32_t)(n - half + 127) << 23);
    float p = 0x1.6ceceap-10f;
    p = p * r + 0x1.12406ap-7f;
    p = p * r + 0x1.55552ap-5f;
    p = p * r + 0x1.555488p-3f;
    p = p * r + 0.5f;
    return p * (r * r) + r;
}

static inline float ons_exp(float x) {
    float first, second;
    float p = ons_exp_parts(x, &first, &second);
    return (p + 1.0f) * first * second;
}

/* eˣ - 1 for x ≤ 88, precise where x is close to 0. */
static inline float ons_exp_minus_one(float x) {
    float first, second;
    float p = ons_exp_parts(x, &first, &second);
    float scale = first * second;
    return p * scale + (scale - 1.0f);
}

/* ln x = e·ln 2 + ln m with m in [√½, √2). */
static inline float ons_log(float x) {
    int tiny = x < 0x1p-126f;
    float scaled = tiny ? x * 0x1p23f : x;
    uint32_t bits = ons_float_bits(scaled) - 0x3f3504f3u; /* √½ becomes a power of two */
    int32_t exponent = (int32_t)bits >> 23;
    float m = ons_float_from_bits((bits & 0x007fffffu) + 0x3f3504f3u);
    float e = (float)exponent - (tiny ? 23.0f : 0.0f);
    float f = m - 1.0f;
    float p = 0x1.ae6466p-5f;
    p = p * f - 0x1.bd2e9ep-4f;
    p = p * f + 0x1.f0930cp-4f;
    p = p * f - 0x1.013808p-3f;
    p = p * f + 0x1.22ff6ap-3f;
    p = p * f - 0x1.552bd2p-3f;
    p = p * f + 0x1.99a54ep-3f;
    p = p * f - 0x1.000078p-2f;
    p = p * f + 0x1.555548p-2f;
    float square = f * f;
    float tail = p * (square * f) + e * 0x1.7f7d1cp-20f;
    float result = (f + (tail - 0.5f * square)) + e * 0x1.62e4p-1f;
    result = x == INFINITY ? INFINITY : result;
    result = x == 0.0f ? -INFINITY : result;
    return x < 0.0f ? NAN : (x != x ? x : result);
}

/* ln(1 + x) for x ≥ 0, precise where x is close to 0: what rounding takes from x in 1 + x is put back as a factor. */
static inline float ons_log_plus_one(float x) {
    float sum = 1.0f + x;
    float rest = sum - 1.0f;
    float quotient = x / (rest == 0.0f ? 1.0f : rest);
    return rest == 0.0f ? x : ons_log(sum) * quotient;
}

/* ln(1 + eˣ) */
static inline float ons_softplus(float x) {
    float positive = x > 0.0f ? x : 0.0f;
    return positive + ons_log_plus_one(ons_exp(-ons_absolute(x)));
}

/* 1 / (1 + e⁻ˣ), precise where it is close to 0. */
static inline float ons_sigmoid(float x) {
    float e = ons_exp(-ons_absolute(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static inline float ons_tanh(float x) {
    float t = ons_absolute(x);
    float large = 1.0f - 2.0f / (ons_exp(2.0f * t) + 1.0f);
    float u = x * x;
    float p = -0x1.767a14p-8f;
    p = p * u + 0x1.524c40p-6f;
    p = p * u - 0x1.b842c4p-5f;
    p = p * u + 0x1.11075ep-3f;
    p = p * u - 0x1.555534p-2f;
    float small = x + x * (u * p);
    return ons_with_sign(t < 0.625f ? small : large, x); /* small loses the sign of -0 */
}

static inline float ons_erf(float x) {
    float t = ons_absolute(x);
    float u = x * x;
    float p = 0x1.4e459cp-14f;
    p = p * u - 0x1.a5ba96p-11f;
    p = p * u + 0x1.54426ep-8f;
    p = p * u - 0x1.b80080p-6f;
    p = p * u + 0x1.ce2d60p-4f;
    p = p * u - 0x1.812740p-2f;
    p = p * u + 0x1.06eba8p-3f;
    float small = x + x * p;
    /* ln erfc as a polynomial; from 4 on erf is 1. */
    float c = t > 4.0f ? 4.0f : t;
    float q = -0x1.61e35ep-16f;
    q = q * c + 0x1.c78decp-12f;
    q = q * c - 0x1.115a52p-8f;
    q = q * c + 0x1.9b8e5cp-6f;
    q = q * c - 0x1.bb83e0p-4f;
    q = q * c - 0x1.44460cp-1f;
    q = q * c - 0x1.2127e4p0f;
    q = q * c + 0x1.6e5804p-13f;
    float large = 1.0f - ons_exp(q);
    return t < 0.92f ? small : ons_with_sign(large, x);
}

/* Sine of x + quarter_turns·π/2, in double inside. Right up to |x| of a million; farther out the caller asks libm. */
enum { ONS_SINE_RANGE = 1000000 };
static inline float ons_sine(float x, int64_t quarter_turns) {
    const double rounder = 0x1.8p52;
    double wide = (double)x;
    double shifted = wide * 0x1.45f306dc9c883p-1 + rounder;
    double count = shifted - rounder;
    int64_t turns;
    memcpy(&turns, &shifted, sizeof turns);
    turns += quarter_turns;
    double r = wide - count * 0x1.921fb5p0; /* π/2 in two parts; the product with the first is exact */
    r = r - count * 0x1.110b4611a6263p-26;
    double u = r * r;
    double s = 2.718237010339267e-06;
    s = s * u - 1.9839327107189187e-04;
    s = s * u + 8.33332936218787e-03;
    s = s * u - 1.66666666414258e-01;
    s = r + r * (u * s);
    double c = -2.7209547640655454e-07;
    c = c * u + 2.479951176341303e-05;
    c = c * u - 1.388888372262889e-03;
    c = c * u + 4.166666662247728e-02;
    c = 1.0 - 0.5 * u + u * u * c;
    double result = (turns & 1) != 0 ? c : s;
    return (float)((turns & 2) != 0 ? -result : result);
}

#endif
