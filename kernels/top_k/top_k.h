/* TopK's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_TOP_K_TOP_K_H
#define ONSTAGE_KERNELS_TOP_K_TOP_K_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_top_k {
    int64_t outer, length, inner, k;
    bool largest;
} ons_top_k;

#endif
