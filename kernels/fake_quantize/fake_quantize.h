/* FakeQuantize's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_H
#define ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_H

#include "kernels/quantization/fake_quantization.h"

typedef struct ons_fake_quantize {
    ons_fake fake;
    bool has_from, has_to;
} ons_fake_quantize;

#endif
