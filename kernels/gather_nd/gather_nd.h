/* GatherND's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_H
#define ONSTAGE_KERNELS_GATHER_ND_GATHER_ND_H

#include "kernels/gather_scatter/nd_indexing.h"

typedef struct ons_gather_nd {
    ons_nd_indexing indexing;
    size_t size;
} ons_gather_nd;

#endif
