/* LRN and its gradient: what their kernels were prepared with. */
#ifndef ONSTAGE_KERNELS_LRN_LOCAL_WINDOW_H
#define ONSTAGE_KERNELS_LRN_LOCAL_WINDOW_H

#include "kernels/common/layout/channels.h"

typedef struct ons_local_response {
    ons_channels size;
    int64_t before, after; /* channels of the window on each side */
    float weight, bias, beta;
    int parts; /* of the work, each with scratch of its own */
} ons_local_response;

#endif
