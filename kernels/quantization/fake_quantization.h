/* FakeQuantize and its gradient: QuantizeLinear with DequantizeLinear behind it, in floats.
 *
 *   q = clip(round(x / s) + z),  y = (q - w) × t        s = t and z = w in what exporters write
 *
 * Rounding counts as the identity (a straight-through estimator), so that inside of the range
 *   dx = dy × t / s,  ds = -dy × t × x / s²,  and everywhere dt = dy × (q - w);
 * with s = t the two add up to the gradient of learned step sizes (Esser et al., "LSQ", 2020).
 */
#ifndef ONSTAGE_KERNELS_QUANTIZATION_FAKE_QUANTIZATION_H
#define ONSTAGE_KERNELS_QUANTIZATION_FAKE_QUANTIZATION_H

#include "graph/small_types.h"
#include "kernels/quantization/quantization.h"

enum { ONS_FAKE_AXIS, ONS_FAKE_BLOCK, ONS_FAKE_LOW, ONS_FAKE_HIGH, ONS_FAKE_FIXED };
/* `fixed`: the scales come from the data; no gradient flows to them. */
#define ONS_FAKE_ATTRIBUTES                                                                                            \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("block_size", 0), ONS_FLOAT_ATTRIBUTE("low", 0),    \
                   ONS_FLOAT_ATTRIBUTE("high", 255), ONS_INT_ATTRIBUTE("fixed", 0))

/* The inputs of one element, found for both operators: x, s, t, z, w begin at input `first`. */
typedef struct ons_fake {
    ons_scales scales;
    float low, high;
    ons_dtype zero_dtype; /* ONS_NO_DTYPE: all zero points are 0 */
} ons_fake;

ons_status *ons_fake_resolve(const ons_operands *o, uint32_t first, ons_fake *fake);

/* A zero point in memory. */
static inline float ons_fake_zero(const ons_fake *fake, const void *zeros, int64_t k) {
    if (zeros == NULL) return 0;
    if (ons_is_small_integer(fake->zero_dtype)) /* a byte each; the unsigned ones have no sign bit in it */
        return ((const int8_t *)zeros)[k];
    switch (fake->zero_dtype) {
    case ONS_INT8: return ((const int8_t *)zeros)[k];
    case ONS_UINT8: return ((const uint8_t *)zeros)[k];
    case ONS_INT16: return ((const int16_t *)zeros)[k];
    case ONS_UINT16: return ((const uint16_t *)zeros)[k];
    default: return 0;
    }
}

#endif
