/* What to say where nothing fits: the memory that would do, and what it would cost. */
#ifndef ONSTAGE_PLANNER_SEARCH_LEAST_MEMORY_H
#define ONSTAGE_PLANNER_SEARCH_LEAST_MEMORY_H

#include "planner/search/planner.h"

typedef struct ons_least_memory {
    int64_t capacity_bytes;  /* of every device: a plan was made with exactly this, and it fits */
    double step_seconds;     /* with it */
    double uncapped_seconds; /* of a step with as much memory as it takes */
} ons_least_memory;

/* `planned`: a search of `problem` in which nothing was feasible. Plans with the memory that the search found to do,
 * and more where it does not. (Trying less would mean searches in which nothing fits, which take longest.) Fails where
 * no memory would do. */
ons_status *ons_least_memory_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                  const ons_planned *planned, ons_least_memory *least);

/* Finds the seconds of a step with as much memory as it takes. */
ons_status *ons_uncapped_step_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                   double *seconds);

#endif
