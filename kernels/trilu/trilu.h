/* Trilu's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_TRILU_TRILU_H
#define ONSTAGE_KERNELS_TRILU_TRILU_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_trilu {
    int64_t rows, height, width, size;
    bool upper;
} ons_trilu;

#endif
