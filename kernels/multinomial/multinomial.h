/* Multinomial's CUDA kernel: what it was prepared with. */
#ifndef ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_H
#define ONSTAGE_KERNELS_MULTINOMIAL_MULTINOMIAL_H

#include "kernels/random/random.h"

typedef struct ons_multinomial {
    int64_t batch, classes, samples;
    uint64_t node_key;
    ons_attribute seed;
    bool wide; /* results are int64, otherwise int32 */
} ons_multinomial;

#endif
