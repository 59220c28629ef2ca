/* QuantizeLinear's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_QUANTIZE_LINEAR_QUANTIZE_LINEAR_H
#define ONSTAGE_KERNELS_QUANTIZE_LINEAR_QUANTIZE_LINEAR_H

#include "kernels/quantization/quantization.h"

typedef struct ons_quantize_linear {
    ons_scales scales;
    bool has_zero, is_signed;
    float low, high;
} ons_quantize_linear;

#endif
