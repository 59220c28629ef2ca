/* GlobalLpPool's kernels, and its gradient's: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_H
#define ONSTAGE_KERNELS_GLOBAL_LP_POOL_GLOBAL_LP_POOL_H

#include "kernels/common/layout/channels.h"

typedef struct ons_global_lp_pool {
    ons_channels size;
    int p;
} ons_global_lp_pool;

#endif
