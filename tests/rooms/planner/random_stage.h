/* Random problems of memory optimisation. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_STAGE_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_STAGE_H

#include "planner/memory/memory.h"
#include "tests/rooms/planner/random_work.h"

typedef struct random_stage {
    ons_workload work;
    ons_memory_workspace *workspace;
    ons_stage_problem problem;
    ons_stage_memory kept; /* without optimisation */
    double seconds;        /* without optimisation */
    uint32_t candidates;   /* saved tensors that the stage can swap or recompute */
} random_stage;

/* An interval of a random graph or chain with at most `candidates` saved tensors: 1 to 4 micro-batches in flight, with
 * or without a link to the host, fast or slow; the capacity between what is held in any case and what is needed without
 * optimisation. random_stage_free it. The problem points into `stage`. */
ons_status *random_stage_make(uint64_t seed, uint32_t candidates, ons_arena *arena, random_stage *stage);

/* A whole graph as one stage, 4 micro-batches in flight, a link that carries half of what is saved; the capacity is
 * `share` of what is needed. */
ons_status *random_stage_make_large(uint64_t seed, uint32_t nodes, double share, ons_arena *arena, random_stage *stage);

void random_stage_free(random_stage *stage);

#endif
