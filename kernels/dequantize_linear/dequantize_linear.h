/* DequantizeLinear's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_DEQUANTIZE_LINEAR_DEQUANTIZE_LINEAR_H
#define ONSTAGE_KERNELS_DEQUANTIZE_LINEAR_DEQUANTIZE_LINEAR_H

#include "kernels/quantization/quantization.h"

typedef struct ons_dequantize_linear {
    ons_scales scales;
    ons_dtype dtype;
    bool has_zero;
} ons_dequantize_linear;

#endif
