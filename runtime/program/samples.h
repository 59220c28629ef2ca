/* How a value of many samples stands to the same value of fewer. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_SAMPLES_H
#define ONSTAGE_RUNTIME_PROGRAM_SAMPLES_H

#include "graph/type.h"

typedef enum ons_sample_relation {
    ONS_SAMPLES_ALIKE,     /* the same for all samples */
    ONS_SAMPLES_OUTERMOST, /* one behind the other in memory: some of them are a stretch of all */
    ONS_SAMPLES_WITHIN,    /* along another axis */
    ONS_SAMPLES_UNLIKE,    /* none of these */
} ons_sample_relation;

/* `all` is the value's type with `rows` samples, `some` with `some_rows`. */
ons_sample_relation ons_samples_relate(const ons_type *all, int64_t rows, const ons_type *some, int64_t some_rows);

#endif
