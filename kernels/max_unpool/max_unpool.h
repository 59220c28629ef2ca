/* MaxUnpool's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_MAX_UNPOOL_MAX_UNPOOL_H
#define ONSTAGE_KERNELS_MAX_UNPOOL_MAX_UNPOOL_H

#include "kernels/common/operator/kernel.h"

#define ONS_MAX_UNPOOL_PROBLEM "an index lies outside of the output"

typedef struct ons_max_unpool {
    ons_shape made, whole;
    int64_t values, room, elements, planes;
    bool grows;
} ons_max_unpool;

#endif
