/* How the kernels of LSTM, GRU and RNN divide their work, for both directions of time.
 *
 * Products with the input of all steps are single large ones. What is left for each step, h R and the gates, is cut
 * into blocks of hidden units, whose weights are packed once a run. Where the batch gives every thread samples enough,
 * a thread does all steps of its samples and never waits for another; otherwise it has blocks of its own, whose weights
 * stay in its cache, and waits for the others once or twice a step. Every element is a sum in the order of k, whoever
 * makes it, so the division decides nothing but the time.
 */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_PLAN_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_PLAN_H

#include "kernels/common/gemm/gemm.h"
#include "kernels/recurrent/recurrent.h"

enum { ONS_RECURRENT_BLOCK = 64 }; /* the most units in a block */

typedef struct ons_recurrent_blocks {
    int threads;
    bool by_samples; /* threads divide the samples of each direction, not its blocks */
    int64_t width;   /* of a block; the last of a direction may be narrower */
    int64_t each;    /* blocks of one direction */
    int64_t count;   /* of all directions */
} ons_recurrent_blocks;

/* `gradient`: for the layer's gradient, which may be divided otherwise. */
void ons_recurrent_divide(const ons_recurrent *r, bool gradient, int threads, ons_recurrent_blocks *blocks);

/* The units [first, first + width) of direction d, for the samples [sample, sample + samples). */
typedef struct ons_recurrent_block {
    int64_t index; /* among those of all directions */
    int64_t d, first, width, sample, samples;
} ons_recurrent_block;

/* A block's units, for no samples: to pack its weights. */
ons_recurrent_block ons_recurrent_block_at(const ons_recurrent *r, const ons_recurrent_blocks *blocks, int64_t index);

/* One thread of a team, and the directions [first_d, last_d) that it goes through side by side. */
typedef struct ons_recurrent_member {
    int part, parts;
    int64_t first_d, last_d;
} ons_recurrent_member;

/* How many directions go side by side: all where threads wait for each other, so that they wait once for both. */
static inline int64_t ons_recurrent_together(const ons_recurrent *r, const ons_recurrent_blocks *blocks) {
    return blocks->by_samples ? 1 : r->directions;
}

/* Calls `function` with `run` for all that is this thread's, each with the time of its direction's step. */
typedef void ons_recurrent_block_function(const void *run, const ons_recurrent_block *b, int64_t t);
void ons_recurrent_each_block(const ons_recurrent *r, const ons_recurrent_blocks *blocks,
                              const ons_recurrent_member *member, int64_t step, ons_recurrent_block_function *function,
                              const void *run);

/* Where threads have units of their own: waits for those of the others. */
static inline void ons_recurrent_wait(const ons_recurrent_blocks *blocks) {
    if (blocks->by_samples) return;
#pragma omp barrier
}

/* For ons_prepare.implementation. */
static inline const char *ons_recurrent_implementation(const ons_recurrent_blocks *blocks) {
    return blocks->by_samples ? "steps by samples" : "steps by blocks of units";
}

/* Books `floats` of scratch behind what is booked already; gives the byte where they begin. */
int64_t ons_recurrent_book(int64_t *bytes, int64_t floats);

/* A product whose own scratch lies behind what is booked; all products share that. */
ons_status *ons_recurrent_prepare_gemm(ons_prepare *p, ons_shape a, ons_shape b, const ons_gemm_form *form, bool bias,
                                       bool beta, int64_t *largest, ons_gemm *product);

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
