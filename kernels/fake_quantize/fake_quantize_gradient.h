/* FakeQuantizeGradient's CUDA kernel: what it was prepared with. */
#ifndef ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_GRADIENT_H
#define ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_GRADIENT_H

#include "kernels/quantization/fake_quantization.h"

typedef struct ons_fake_quantize_gradient {
    ons_fake fake;
    bool has_from, has_to;
    int64_t each; /* elements of a scale, at most */
    int parts;    /* of the sums over them; scratch holds two doubles for each scale and part */
} ons_fake_quantize_gradient;

#endif
