/* How the samples of a step fall into its micro-batches: as evenly as whole samples allow. A step of `batch` samples
 * has `micro_batches` of them, the first of which have one sample more where that does not come out even: 16 in 3 are
 * 6, 5 and 5. A shorter step, at the end of an epoch, takes its samples in the same portions, as far as they go; what
 * is left is a micro-batch of its own: 14 are 6, 5 and 3. Some models leave that one out: ons_training_graphs_options
 * in engine/stages/ says which. */
#ifndef ONSTAGE_RUNTIME_DATA_PORTIONS_H
#define ONSTAGE_RUNTIME_DATA_PORTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of micro-batches, in the order in which a step has them; each has a graph and a program of its own. Whole
 * and shorter ones go through a pipeline in one go, so their programs are joined in one arena; the rest follows alone,
 * once the pipeline is empty. Evaluation has no shorter ones. */
typedef enum ons_batch_variant {
    ONS_WHOLE,
    ONS_SHORTER, /* of one sample less */
    ONS_REST,    /* what is left of an epoch's samples */
    ONS_BATCH_VARIANTS
} ons_batch_variant;

typedef struct ons_portions {
    uint64_t rows[ONS_BATCH_VARIANTS];  /* samples of a micro-batch; 0: no step has such ones, of the rest: this step */
    uint64_t count[ONS_BATCH_VARIANTS]; /* micro-batches of the step; of the rest 1 or 0 */
} ons_portions;

/* `samples`: of the step, at most `batch`, which has no fewer samples than micro-batches. */
static inline ons_portions ons_portions_make(uint64_t batch, uint64_t micro_batches, uint64_t samples) {
    uint64_t rows = (batch + micro_batches - 1) / micro_batches;
    const uint64_t most[] = {batch - micro_batches * (rows - 1), micro_batches * rows - batch}; /* of a whole step */
    ons_portions p = {.rows = {rows, most[ONS_SHORTER] > 0 ? rows - 1 : 0}};
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST && p.rows[v] > 0; ++v) {
        p.count[v] = samples / p.rows[v] < most[v] ? samples / p.rows[v] : most[v];
        samples -= p.count[v] * p.rows[v];
    }
    p.rows[ONS_REST] = samples;
    p.count[ONS_REST] = samples > 0;
    return p;
}

/* Cuts each micro-batch but the rest into `parts` that follow each other: a stage's own, where all stages together take
 * several of them. */
static inline ons_portions ons_portions_in_parts(ons_portions p, uint64_t parts) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v) {
        p.rows[v] /= parts;
        p.count[v] *= parts;
    }
    return p;
}

static inline uint64_t ons_portions_total(const ons_portions *p) {
    return p->count[ONS_WHOLE] + p->count[ONS_SHORTER] + p->count[ONS_REST];
}

static inline uint64_t ons_portions_samples(const ons_portions *p) {
    uint64_t samples = 0;
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) samples += p->rows[v] * p->count[v];
    return samples;
}

/* Gives the first sample of a step's micro-batch. */
static inline uint64_t ons_portions_first_sample(const ons_portions *p, uint64_t number) {
    uint64_t samples = 0;
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        uint64_t before = number < p->count[v] ? number : p->count[v];
        samples += p->rows[v] * before;
        number -= before;
    }
    return samples;
}

/* Ranks that compute the same stages share a step's micro-batches: replicas of a pipeline, or copies of a stage. */
typedef struct ons_rank_group {
    uint32_t own, count; /* which of so many this is; count 0: it is alone */
    bool in_turn;        /* copies take micro-batches in turn; replicas have ranges that follow each other */
} ons_rank_group;

/* Numbers of micro-batches: first, first + stride, ... */
typedef struct ons_numbers {
    uint64_t first, stride, count;
} ons_numbers;

/* Which of a step's micro-batches a rank of the group computes: as many as any other, or one more; the first ranks have
 * those, so where there are fewer than ranks the last ones have none. */
static inline ons_numbers ons_rank_group_numbers(const ons_rank_group *rank_group, uint32_t rank,
                                                 uint64_t micro_batches) {
    uint64_t ranks = rank_group->count > 0 ? rank_group->count : 1;
    uint64_t each = micro_batches / ranks, more = micro_batches % ranks, count = each + (rank < more);
    if (rank_group->in_turn) return (ons_numbers){rank, ranks, count};
    return (ons_numbers){rank * each + (rank < more ? rank : more), 1, count};
}

/* Counts those that are less than `end`. */
static inline uint64_t ons_numbers_before(const ons_numbers *numbers, uint64_t end) {
    uint64_t before = end <= numbers->first ? 0 : (end - numbers->first + numbers->stride - 1) / numbers->stride;
    return before < numbers->count ? before : numbers->count;
}

/* Of a step's micro-batches those of these numbers. */
static inline ons_portions ons_portions_of_numbers(ons_portions p, const ons_numbers *numbers) {
    uint64_t end = 0, taken = 0;
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        end += p.count[v];
        p.count[v] = ons_numbers_before(numbers, end) - taken;
        taken += p.count[v];
    }
    return p;
}

/* Micro-batches that go through a pipeline in one go. */
static inline uint32_t ons_portions_together(const ons_portions *portions) {
    return (uint32_t)(portions->count[ONS_WHOLE] + portions->count[ONS_SHORTER]);
}

#endif
