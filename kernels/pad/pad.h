/* Pad's CUDA kernel: what it was prepared with. */
#ifndef ONSTAGE_KERNELS_PAD_PAD_H
#define ONSTAGE_KERNELS_PAD_PAD_H

#include "kernels/pad/padding.h"

typedef struct ons_pad {
    ons_padding padding;
    int64_t elements; /* of the result */
    uint64_t value;   /* where it is not an input, as the element's bytes */
    bool has_value;   /* it is */
    size_t size;
} ons_pad;

#endif
