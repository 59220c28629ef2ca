/* GatherNDGradient's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_GRADIENT_H
#define ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_GRADIENT_H

#include "kernels/gather_scatter/nd_indexing.h"

typedef struct ons_gather_nd_gradient {
    ons_nd_indexing indexing;
    int64_t bytes;
} ons_gather_nd_gradient;

#endif
