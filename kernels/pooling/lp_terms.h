/* The arithmetic of p-norms, for integer p ≥ 1: what CPU and CUDA share. */
#ifndef ONSTAGE_KERNELS_POOLING_LP_TERMS_H
#define ONSTAGE_KERNELS_POOLING_LP_TERMS_H

#include <math.h>

#include "base/host_device.h"

ONS_HOST_DEVICE static inline float ons_lp_positive_power(float x, int exponent) {
    float power = 1;
    for (; exponent > 0; exponent /= 2, x *= x)
        if (exponent % 2 == 1) power *= x;
    return power;
}

ONS_HOST_DEVICE static inline float ons_lp_term(float x, int p) {
    return p == 2 ? x * x : p == 1 ? fabsf(x) : ons_lp_positive_power(fabsf(x), p);
}

ONS_HOST_DEVICE static inline float ons_lp_root(float sum, int p) {
    return p == 2 ? sqrtf(sum) : p == 1 ? sum : powf(sum, 1.0f / (float)p);
}

/* sign(x) |x|^(p - 1): 0 at 0, where p = 1 has a kink. */
ONS_HOST_DEVICE static inline float ons_lp_slope(float x, int p) {
    if (p == 2) return x;
    float sign = (float)(x > 0) - (float)(x < 0);
    return p == 1 ? sign : sign * ons_lp_positive_power(fabsf(x), p - 1);
}

/* 1 ÷ norm^(p - 1), what a norm's gradient has beside the slope: 0 where the norm is 0. */
ONS_HOST_DEVICE static inline float ons_lp_share(float norm, int p) {
    if (p == 1) return 1;
    return norm == 0 ? 0 : 1 / ons_lp_positive_power(norm, p - 1);
}

#endif
