/* The inverse circular functions and the hyperbolic ones in float, without branches, as in vector_math.h, whose rules
 * hold here too: polynomials of our own, selections over values that are both computed, ends as in libm. Errors are at
 * most about 4 units in the last place. */
#ifndef ONSTAGE_KERNELS_TRIGONOMETRY_TRIGONOMETRY_H
#define ONSTAGE_KERNELS_TRIGONOMETRY_TRIGONOMETRY_H

#include "kernels/common/math/vector_math.h"

#define ONS_HALF_PI_F 0x1.921fb6p0f

static inline float ons_atan(float x) {
    float t = ons_absolute(x);
    int steep = t > 1.0f;
    float a = steep ? 1.0f / t : t;
    float u = a * a;
    float p = 0x1.7ed232p-9f;
    p = p * u - 0x1.0c2c14p-6f;
    p = p * u + 0x1.61fddap-5f;
    p = p * u - 0x1.3556b6p-4f;
    p = p * u + 0x1.b4e12ap-4f;
    p = p * u - 0x1.230adcp-3f;
    p = p * u + 0x1.9978f4p-3f;
    p = p * u - 0x1.5554dcp-2f;
    float angle = a + a * (u * p);
    return ons_with_sign(steep ? ONS_HALF_PI_F - angle : angle, x);
}

/* Of 0 ≤ x ≤ 1/2. */
static inline float ons_asin_small(float x) {
    float u = x * x;
    float p = 0x1.596d28p-5f;
    p = p * u + 0x1.8c283cp-6f;
    p = p * u + 0x1.747e4ap-5f;
    p = p * u + 0x1.3301e4p-4f;
    p = p * u + 0x1.5555c8p-3f;
    return x + x * (u * p);
}

/* sin(a) = t makes sin((π/2 - a) / 2) = √((1 - t) / 2), which is small where t is large. NaN outside of [-1, 1]. */
static inline float ons_asin(float x) {
    float t = ons_absolute(x);
    int large = t > 0.5f;
    float half = ons_asin_small(large ? __builtin_sqrtf(0.5f - 0.5f * t) : t);
    return ons_with_sign(large ? ONS_HALF_PI_F - 2.0f * half : half, x);
}

static inline float ons_acos(float x) {
    float t = ons_absolute(x);
    int large = t > 0.5f;
    float half = ons_asin_small(large ? __builtin_sqrtf(0.5f - 0.5f * t) : t);
    float near_end = x < 0.0f ? 2.0f * (ONS_HALF_PI_F - half) : 2.0f * half;
    float near_middle = x < 0.0f ? ONS_HALF_PI_F + half : ONS_HALF_PI_F - half;
    return large ? near_end : near_middle;
}

/* With m = e^|x| - 1: (m + m / (m + 1)) / 2; far out e^|x| / 2, in two factors as it may fit where e^|x| does not. */
static inline float ons_sinh(float x) {
    float t = ons_absolute(x);
    float m = ons_exp_minus_one(t < 20.0f ? t : 20.0f);
    float root = ons_exp(0.5f * t);
    float result = t < 20.0f ? 0.5f * (m + m / (m + 1.0f)) : 0.5f * root * root;
    return ons_with_sign(x == x ? result : x, x);
}

static inline float ons_cosh(float x) {
    float t = ons_absolute(x);
    float e = ons_exp(t < 20.0f ? t : 20.0f);
    float root = ons_exp(0.5f * t);
    float result = t < 20.0f ? 0.5f * (e + 1.0f / e) : 0.5f * root * root;
    return x == x ? result : x;
}

/* ln 2 + ln x where x² would overflow. */
static inline float ons_log_of_double(float x) { return ons_log(x) + 0x1.62e430p-1f; }

/* ln(t + √(t² + 1)), by what exceeds 1. */
static inline float ons_asinh(float x) {
    float t = ons_absolute(x);
    float bounded = t < 1e9f ? t : 1e9f;
    float square = bounded * bounded;
    float near = ons_log_plus_one(bounded + square / (1.0f + __builtin_sqrtf(square + 1.0f)));
    float result = t < 1e9f ? near : ons_log_of_double(t);
    return ons_with_sign(x == x ? result : x, x);
}

/* ln(x + √(x² - 1)), by what exceeds 1. */
static inline float ons_acosh(float x) {
    float above = (x < 1e9f ? x : 1e9f) - 1.0f;
    float near = ons_log_plus_one(above + __builtin_sqrtf(above * (above + 2.0f)));
    float result = x < 1e9f ? near : ons_log_of_double(x);
    return x >= 1.0f ? result : NAN;
}

/* ln((1 + t) / (1 - t)) / 2, by what exceeds 1. */
static inline float ons_atanh(float x) {
    float t = ons_absolute(x);
    float inside = t < 1.0f ? t : 0.0f;
    float result = 0.5f * ons_log_plus_one(2.0f * inside / (1.0f - inside));
    result = t == 1.0f ? INFINITY : (t < 1.0f ? result : NAN);
    return ons_with_sign(result, x);
}

#endif
