/* How the kernels of LSTM, GRU and RNN divide their work, for both directions of time.
 *
 * Products with the input of all steps are single large ones. What is left for each step, h R and the gates, is cut
 * into blocks of hidden units: a thread does all steps of its blocks, whose weights it has packed once and which stay
 * in its cache, and waits for the others once or twice a step. Every element is a sum in the order of k, whoever makes
 * it.
 */
#ifndef ONSTAGE_KERNELS_COMMON_RECURRENT_PLAN_H
#define ONSTAGE_KERNELS_COMMON_RECURRENT_PLAN_H

#include "kernels/common/product.h"
#include "kernels/common/recurrent.h"

enum { ONS_RECURRENT_BLOCK = 32 }; /* the most units in a block */

typedef struct ons_recurrent_blocks {
    int threads;
    int64_t width; /* of a block; the last of a direction may be narrower */
    int64_t each;  /* blocks of one direction */
    int64_t count; /* of all directions */
} ons_recurrent_blocks;

/* The units [first, first + width) of direction d. */
typedef struct ons_recurrent_block {
    int64_t d, first, width;
} ons_recurrent_block;

void ons_recurrent_divide(const ons_recurrent *r, int threads, ons_recurrent_blocks *blocks);

static inline ons_recurrent_block ons_recurrent_block_at(const ons_recurrent *r, const ons_recurrent_blocks *blocks,
                                                         int64_t index) {
    int64_t d = index / blocks->each, first = index % blocks->each * blocks->width, left = r->hidden - first;
    return (ons_recurrent_block){d, first, left < blocks->width ? left : blocks->width};
}

/* Books `floats` of scratch behind what is booked already; gives the byte where they begin. */
int64_t ons_recurrent_book(int64_t *bytes, int64_t floats);

/* A product whose own scratch lies behind what is booked; all products share that. */
ons_status *ons_recurrent_prepare_product(ons_prepare *p, ons_shape a, ons_shape b, bool transpose_a, bool transpose_b,
                                          bool bias, bool beta, int64_t *largest, ons_product *product);

/* The record in one allocation as the parts that it has. */
typedef struct ons_recurrent_parts {
    float *gates, *hidden, *cell, *candidates, *slopes; /* NULL: the cell has none */
} ons_recurrent_parts;
ons_recurrent_parts ons_recurrent_parts_of(const ons_recurrent *r, float *record);

/* X between [batch][time] and [time][batch]. */
void ons_recurrent_swap_time(const ons_recurrent *r, const float *from, float *to, bool to_batch_first);

/* Steps of sample n, from the lengths that came with the data; NULL: all. */
static inline int64_t ons_recurrent_length(const ons_recurrent *r, const int32_t *lengths, int64_t n) {
    if (lengths == NULL) return r->steps;
    return lengths[n] < 0 ? 0 : lengths[n] > r->steps ? r->steps : lengths[n];
}

#endif
