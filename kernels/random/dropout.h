/* Which elements Dropout keeps: a function of seed, step, micro-batch, node and element alone. */
#ifndef ONSTAGE_KERNELS_RANDOM_DROPOUT_H
#define ONSTAGE_KERNELS_RANDOM_DROPOUT_H

#include <math.h>

#include "kernels/random/random.h"

/* What the numbers of one node in one step are drawn with. */
typedef struct ons_dropout_key {
    ons_random_key random;
    uint32_t threshold; /* 24 bits: smaller numbers are dropped */
} ons_dropout_key;

/* `ratio`: from 0 to 1. */
ONS_HOST_DEVICE static inline uint32_t ons_dropout_threshold(double ratio) { return (uint32_t)lround(ratio * 0x1p24); }

/* `seed`: the node's attribute, see ons_random_key_of. */
ONS_HOST_DEVICE static inline ons_dropout_key ons_dropout_key_of(const ons_step *step, uint64_t node_key,
                                                                 const ons_attribute *seed, double ratio) {
    ons_dropout_key key = {ons_random_key_of(step, node_key, seed), ons_dropout_threshold(ratio)};
    return key;
}

/* The state of the kernels that draw a mask. */
typedef struct ons_dropout_state {
    int64_t elements;
    uint64_t node_key;
    ons_attribute seed;
    double ratio;
    bool has_mask;         /* of DropoutTraining: whether its second output is there */
    ons_dtype dtype;       /* of its operand */
    int64_t first_element; /* ons_random_first_element */
    int64_t unit_elements; /* ons_random_unit_elements */
} ons_dropout_state;

/* Elements that come from the same draw. */
enum { ONS_DROPOUT_DRAW = ONS_RANDOM_DRAW, ONS_DROPOUT_BLOCK = ONS_RANDOM_BLOCK };

/* mask[i] = 1 where element begin + i is kept, else 0; at most ONS_DROPOUT_BLOCK elements. */
void ons_dropout_mask(const ons_dropout_key *key, int64_t begin, int64_t count, uint8_t *mask);

/* The factor of elements that are kept: 1 / (1 - ratio); 0 where none is. */
double ons_dropout_scale(double ratio);

/* Fails unless 0 ≤ ratio ≤ 1. */
ons_status *ons_dropout_check(const ons_operands *o, double ratio);

#endif
