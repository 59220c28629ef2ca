/* ScatterNDGradient's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_GRADIENT_H
#define ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_GRADIENT_H

#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter.h"

typedef struct ons_scatter_nd_gradient {
    ons_nd_indexing indexing;
    ons_scatter_mode mode;
    int64_t elements;
} ons_scatter_nd_gradient;

#endif
