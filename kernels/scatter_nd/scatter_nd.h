/* ScatterND's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_H
#define ONSTAGE_KERNELS_SCATTER_ND_SCATTER_ND_H

#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter.h"

typedef struct ons_scatter_nd {
    ons_nd_indexing indexing;
    ons_scatter_mode mode;
    size_t size;
    int64_t bytes;
} ons_scatter_nd;

#endif
