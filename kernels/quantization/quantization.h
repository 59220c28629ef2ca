/* Scales and zero points: one for the tensor, one for each entry of an axis, or one for each block of an axis.
 *
 *   quantise      q = clip(round(x / scale) + zero point), rounding half to even, as the dtype of q says
 *   dequantise    y = (q - zero point) × scale
 */
#ifndef ONSTAGE_KERNELS_QUANTIZATION_QUANTIZATION_H
#define ONSTAGE_KERNELS_QUANTIZATION_QUANTIZATION_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"

typedef struct ons_scales {
    int64_t elements, inner, length, block, blocks; /* of the axis: its length, and its blocks where there are any */
    int64_t count;                                  /* of scales; 1: one for the tensor */
    bool blocked;
} ons_scales;

/* Of which scale element `i` is. */
ONS_HOST_DEVICE static inline int64_t ons_scale_of(const ons_scales *s, int64_t i) {
    if (s->count == 1) return 0;
    int64_t at = i / s->inner % s->length;
    return s->blocked ? (i / s->inner / s->length * s->blocks + at / s->block) * s->inner + i % s->inner : at;
}

/* Equal, or one number each: some write that as a vector. */
bool ons_scales_alike(const ons_shape *a, const ons_shape *b);

/* From the type of the tensor, the inputs `scale` and (where there is one) `zero`, and two attributes. Fails with the
 * node's name where they do not fit. `block` 0: no blocks. */
ons_status *ons_scales_resolve(const ons_operands *o, const ons_type *x, uint32_t scale, uint32_t zero, int64_t axis,
                               int64_t block, ons_scales *s);

/* The numbers that an integer dtype holds; false for those that nothing is quantised to. */
bool ons_quantized_range(ons_dtype dtype, double *low, double *high);

/* In float, as other engines have it: the quotient is rounded twice. */
ONS_HOST_DEVICE static inline float ons_quantize(float x, float scale, float zero, float low, float high) {
    float q = rintf(x / scale) + zero;
    return q < low ? low : q > high ? high : q; /* NaN stays; callers turn it into a number */
}

#endif
