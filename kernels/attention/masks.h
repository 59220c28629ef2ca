/* What decomposed attention does to its scores before the softmax: masks that are added or chosen, in any number. */
#ifndef ONSTAGE_KERNELS_ATTENTION_MASKS_H
#define ONSTAGE_KERNELS_ATTENTION_MASKS_H

#include "kernels/common/operator/kernel.h"

enum { ONS_MASKS_MOST = 4 };

typedef struct ons_found_mask {
    ons_value_id added;     /* as it is, or ONS_NONE: */
    ons_value_id condition; /* scores are shown where it holds, or (hides) where it does not; `fill` elsewhere */
    bool hides;
    double fill;
} ons_found_mask;

typedef struct ons_found_masks {
    ons_found_mask items[ONS_MASKS_MOST];
    uint32_t count;
    bool causal; /* one more, that is not listed: position t sees no key after t */
    bool chosen; /* some hide keys by a finite number in the place of scores */
} ons_found_masks;

/* Takes all masks off the scores of so many queries and keys. `dims`: batch, heads, queries, keys. False where
 * something else is in the way, or where a row that is hidden whole would come out otherwise. */
bool ons_step_over_masks(const ons_graph *graph, const int64_t dims[static 4], ons_value_id *scores,
                         ons_found_masks *masks);

/* All that are listed as one that is added; ONS_NONE where there are none. */
ons_value_id ons_build_masks(ons_builder *builder, const ons_found_masks *masks);

#endif
