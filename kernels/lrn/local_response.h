/* What LRN and its gradient share: s = bias + alpha ÷ size × Σ x² over neighbouring channels, y = x s^-beta. Both
 * declare the attributes below in this order.
 */
#ifndef ONSTAGE_KERNELS_LRN_LOCAL_RESPONSE_H
#define ONSTAGE_KERNELS_LRN_LOCAL_RESPONSE_H

#include "kernels/common/layout/channels.h"
#include "kernels/common/math/simd.h"
#include "kernels/lrn/local_window.h"

enum { ONS_LRN_ALPHA, ONS_LRN_BETA, ONS_LRN_BIAS, ONS_LRN_SIZE };
#define ONS_LRN_ATTRIBUTES                                                                                             \
    ONS_FLOAT_ATTRIBUTE("alpha", 1e-4), ONS_FLOAT_ATTRIBUTE("beta", 0.75), ONS_FLOAT_ATTRIBUTE("bias", 1),             \
        ONS_REQUIRED_ATTRIBUTE("size", ONS_ATTRIBUTE_INT)

/* Checks the attributes against x. */
ons_status *ons_local_response_of(const ons_operands *o, const ons_type *x, ons_local_response *l);

/* First and last channel, the end excluded, of a window. */
static inline int64_t ons_local_first(int64_t channel, int64_t reach) { return channel < reach ? 0 : channel - reach; }
static inline int64_t ons_local_end(const ons_local_response *l, int64_t channel, int64_t reach) {
    return l->size.channels - channel <= reach ? l->size.channels : channel + reach + 1;
}

/* s of `count` neighbouring positions; x is their first channel. */
static inline __attribute__((always_inline)) ons_simd_float ons_local_sum(const ons_local_response *l, const float *x,
                                                                          int64_t channel, int count) {
    ons_simd_float sum = {0};
    for (int64_t c = ons_local_first(channel, l->before), end = ons_local_end(l, channel, l->after); c < end; ++c) {
        const float *from = x + c * l->size.positions;
        ons_simd_float value = count == ONS_SIMD_FLOATS ? ons_simd_load(from) : ons_simd_load_some(from, count, 0);
        sum += value * value;
    }
    return l->bias + l->weight * sum;
}

/* s^-beta */
static inline ons_simd_float ons_local_power(ons_simd_float s, float beta) {
    if (beta == 0.75f) {
        for (int i = 0; i < ONS_SIMD_FLOATS; ++i) s[i] = __builtin_sqrtf(s[i]);
        ons_simd_float root = s;
        for (int i = 0; i < ONS_SIMD_FLOATS; ++i) root[i] = __builtin_sqrtf(root[i]);
        return 1.0f / (s * root);
    }
    for (int i = 0; i < ONS_SIMD_FLOATS; ++i) s[i] = ons_exp(-beta * ons_log(s[i]));
    return s;
}

/* In double, of element `at` of x. */
double ons_local_sum_exact(const ons_operands *o, const ons_type *x, const double *words, int64_t at);

/* Prepared for float32, with an ons_local_response as state. */
ons_status *ons_lrn_prepare(ons_prepare *p);
ons_status *ons_lrn_gradient_prepare(ons_prepare *p);

#endif
