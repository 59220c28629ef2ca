/* Several ways to divide devices or processors, each planned whole, as if it had been given: the fastest is kept. */
#ifndef ONSTAGE_ENGINE_PLAN_PLAN_TRIALS_H
#define ONSTAGE_ENGINE_PLAN_PLAN_TRIALS_H

#include "base/arena.h"
#include "include/onstage.h"

/* What came of one of them. */
typedef struct ons_trial {
    int64_t micro_batches; /* of each replica; 0: not planned */
    int64_t batch;         /* of all replicas; 0: not planned */
    double step_seconds;   /* INFINITY: no plan */
    int64_t memory_bytes;  /* of the fullest device; without a plan the smallest that would do, 0: not known */
    const char *why;       /* there is no plan; NULL: there is one, or too little memory */
} ons_trial;

/* Begin with a zeroed one and its arena. */
typedef struct ons_trials {
    ons_arena *arena;       /* for texts; the caller's */
    uint32_t count;         /* tried so far */
    uint32_t taken;         /* the best of them, counted from 0 */
    ons_trial best;         /* what came of it */
    ons_planning *planning; /* its; NULL: none was made */
    ons_status *failure;    /* why it is no plan; NULL: it is one */
} ons_trials;

/* Samples a second; 0: no plan. */
double ons_trial_speed(const ons_trial *trial);

/* Notes in *trial what ons_planning_make gave for the next way, and takes over both: that with the most samples a
 * second is kept, of equal ones the first, and where none has a plan that which needs the least memory. Fails where
 * another way would fail as well. */
ons_status *ons_trials_add(ons_trials *trials, ons_planning *planning, ons_status *status, ons_trial *trial);

/* Frees the planning and the failure that are kept, unless the caller has taken them and left NULL. */
void ons_trials_free(ons_trials *trials);

#endif
