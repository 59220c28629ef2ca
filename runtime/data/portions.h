/* How the samples of a step fall into its micro-batches: as evenly as whole samples allow. A step of `batch` samples
 * has `micro_batches` of them, the first of which have one sample more where that does not come out even: 16 in 3 are
 * 6, 5 and 5. A shorter step, at the end of an epoch, takes its samples in the same portions, as far as they go; what
 * is left is a micro-batch of its own: 14 are 6, 5 and 3. */
#ifndef ONSTAGE_RUNTIME_DATA_PORTIONS_H
#define ONSTAGE_RUNTIME_DATA_PORTIONS_H

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

static inline uint64_t ons_portions_total(const ons_portions *p) {
    return p->count[ONS_WHOLE] + p->count[ONS_SHORTER] + p->count[ONS_REST];
}

/* Of a step's micro-batches, in their order, those from `first` to `end` - 1. */
static inline ons_portions ons_portions_between(ons_portions p, uint64_t first, uint64_t end) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        uint64_t count = p.count[v], skipped = first < count ? first : count, taken = end < count ? end : count;
        p.count[v] = taken - skipped;
        first -= skipped;
        end -= taken;
    }
    return p;
}

static inline uint64_t ons_portions_samples(const ons_portions *p) {
    uint64_t samples = 0;
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) samples += p->rows[v] * p->count[v];
    return samples;
}

/* Which of a step's micro-batches a replica computes: as many as any other, or one more; the first replicas have those,
 * so where there are fewer than replicas the last ones have none. */
typedef struct ons_replica_range {
    uint64_t first, end;
} ons_replica_range;
static inline ons_replica_range ons_replica_range_of(uint64_t micro_batches, uint64_t replica, uint64_t replicas) {
    uint64_t each = micro_batches / replicas, more = micro_batches % replicas;
    uint64_t first = replica * each + (replica < more ? replica : more);
    return (ons_replica_range){first, first + each + (replica < more)};
}

/* Micro-batches that go through a pipeline in one go. */
static inline uint32_t ons_portions_together(const ons_portions *portions) {
    return (uint32_t)(portions->count[ONS_WHOLE] + portions->count[ONS_SHORTER]);
}

#endif
