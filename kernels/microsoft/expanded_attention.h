/* Attention made of nodes: what com.microsoft's Attention and MultiHeadAttention share.
 *
 * Queries, keys and values are [batch, positions, heads, size]. To every score the key mask adds `filter` where it is
 * 0; the bias, [batch or 1, heads or 1, queries, keys], is added as it is.
 */
#ifndef ONSTAGE_KERNELS_MICROSOFT_EXPANDED_ATTENTION_H
#define ONSTAGE_KERNELS_MICROSOFT_EXPANDED_ATTENTION_H

#include "kernels/common/operator/expand.h"

/* How many positions a mask covers, by its shape. */
typedef enum ons_key_mask {
    ONS_NO_KEY_MASK,
    ONS_KEY_COUNTS, /* [batch]: keys from there on are hidden */
    ONS_KEY_SPANS,  /* [2 batch]: ends, then beginnings */
    ONS_KEY_MASK,   /* [batch, keys] */
    ONS_SCORE_MASK, /* [batch, queries, keys] */
} ons_key_mask;

typedef struct ons_heads {
    int64_t batch, queries, keys, heads, size, value_size;
    double scale, filter;
    bool causal; /* position t sees no key after t */
    ons_key_mask mask;
} ons_heads;

/* Checks the mask (an input of int32 or int64, or left out) and the bias (likewise) against the sizes. */
ons_status *ons_heads_check(const ons_operands *o, ons_heads *h, uint32_t mask, uint32_t bias);

/* [batch, queries, heads × value size]. `mask` and `bias` are ONS_NONE where they are left out. */
ons_value_id ons_heads_expand(ons_replacement *m, const ons_heads *h, const ons_value_id operands[static 3],
                              ons_value_id mask, ons_value_id bias);

/* The operands of ons_heads_expand as words, for references. `bias_shape` is read where `bias` is not NULL. */
typedef struct ons_heads_words {
    const double *query, *key, *value, *bias;
    const int64_t *mask;
    const ons_shape *bias_shape;
} ons_heads_words;
void ons_heads_reference(const ons_heads *h, const ons_heads_words *words, double *y);

#endif
