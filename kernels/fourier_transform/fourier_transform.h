/* FourierTransform's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_FOURIER_TRANSFORM_FOURIER_TRANSFORM_H
#define ONSTAGE_KERNELS_FOURIER_TRANSFORM_FOURIER_TRANSFORM_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_fourier_sizes {
    int64_t outer, inner, inputs, outputs, length, in_parts, out_parts;
    bool backwards;
    double factor;
} ons_fourier_sizes;

#endif
