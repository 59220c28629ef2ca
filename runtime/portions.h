/* How the samples of a step fall into its micro-batches: as evenly as whole samples allow. A step of `batch` samples
 * has `micro_batches` of them, the first of which have one sample more where that does not come out even: 16 in 3 are
 * 6, 5 and 5. A shorter step, at the end of an epoch, takes its samples in the same portions, as far as they go; what
 * is left is a micro-batch of its own: 14 are 6, 5 and 3. */
#ifndef ONSTAGE_RUNTIME_PORTIONS_H
#define ONSTAGE_RUNTIME_PORTIONS_H

#include <stdint.h>

typedef struct ons_portions {
    uint64_t rows; /* of the largest micro-batches */
    uint64_t full; /* micro-batches of so many rows, which come first */
    uint64_t less; /* then those of one row less */
    uint64_t rest; /* then, where it is not 0, one of so many rows */
} ons_portions;

/* `samples`: of the step, at most `batch`, which has no fewer samples than micro-batches. */
static inline ons_portions ons_portions_make(uint64_t batch, uint64_t micro_batches, uint64_t samples) {
    ons_portions portions = {.rows = (batch + micro_batches - 1) / micro_batches};
    uint64_t larger = batch - micro_batches * (portions.rows - 1); /* micro-batches of a whole step */
    portions.full = samples / portions.rows < larger ? samples / portions.rows : larger;
    portions.rest = samples - portions.full * portions.rows;
    if (larger == micro_batches) return portions;
    portions.less = portions.rest / (portions.rows - 1);
    portions.rest %= portions.rows - 1;
    return portions;
}

/* Micro-batches that go through a pipeline in one go; the rest follows once it is empty. */
static inline uint32_t ons_portions_together(const ons_portions *portions) {
    return (uint32_t)(portions->full + portions->less);
}

#endif
