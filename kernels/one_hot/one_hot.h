/* OneHot's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_ONE_HOT_ONE_HOT_H
#define ONSTAGE_KERNELS_ONE_HOT_ONE_HOT_H

#include "kernels/common/operator/kernel.h"

typedef struct ons_one_hot {
    int64_t outer, depth, inner, elements;
    ons_dtype index_dtype;
    size_t size;
} ons_one_hot;

#endif
