/* What the planner's strategies find for a problem of the set, each judged by the checker. */
#ifndef ONSTAGE_BENCH_INSTANCES_TRIES_H
#define ONSTAGE_BENCH_INSTANCES_TRIES_H

#include "bench/instances/check.h"

typedef struct best_try {
    check_result check_result;
    const char *found_by; /* NULL: nothing that is valid was found */
    const char *solution; /* JSON */
    uint32_t judged, valid;
} best_try;

/* Tries all strategies on the problem, whose graphs are in `folder`. Texts in `arena`. */
ons_status *tries_run(const instance *in, const char *folder, ons_arena *arena, best_try *best);

#endif
