/* ArgMax and ArgMin: everything but the kernel's comparison. The first NaN wins (or the last), as in numpy. */
#ifndef ONSTAGE_KERNELS_COMMON_EXTREME_INDEX_H
#define ONSTAGE_KERNELS_COMMON_EXTREME_INDEX_H

#include "kernels/common/kernel.h"

#define ONS_EXTREME_INDEX_ATTRIBUTES                                                                                   \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_INT_ATTRIBUTE("keepdims", 1),                                     \
                   ONS_INT_ATTRIBUTE("select_last_index", 0))

typedef struct ons_extreme_index {
    int64_t outer, length, inner;
    bool last; /* of equal elements */
} ons_extreme_index;

ons_status *ons_extreme_index_infer(ons_operands *o);
ons_cost ons_extreme_index_cost(const ons_operands *o);
ons_status *ons_extreme_index_prepare(ons_prepare *p); /* state: ons_extreme_index */
void ons_extreme_index_reference(const ons_operands *o, bool largest, const void *in, int64_t *out);

#endif
