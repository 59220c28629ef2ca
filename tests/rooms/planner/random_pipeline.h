/* Random pipelines for tests of their simulation. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_PIPELINE_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_PIPELINE_H

#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/random_work.h"

enum { RANDOM_PIPELINE_STAGES = 8 }; /* at most */

typedef struct random_pipeline {
    uint64_t seed;
    bool chain, decided;
    ons_workload work;
    ons_planning_problem problem;
    uint32_t first[RANDOM_PIPELINE_STAGES + 1];
    ons_stage_solution solutions[RANDOM_PIPELINE_STAGES];
    double again[RANDOM_PIPELINE_STAGES]; /* seconds of recomputation, as ons_memory_evaluate says */
} random_pipeline;

/* A workload: a chain, whose times may be heavy-tailed, or a graph. */
ons_status *random_pipeline_work(uint64_t seed, bool chain, uint32_t nodes, ons_arena *arena, ons_workload *work);
/* first[0 … stages]; every stage gets a node. */
void random_pipeline_cut(random_source *random, uint32_t nodes, uint32_t stages, uint32_t *first);
ons_stage_problem random_pipeline_stage(const ons_planning_problem *problem, const uint32_t *first, uint32_t stage);

/* Swaps and recomputes some of what the stages save: of `pipeline` work, problem and cuts are given, and solutions
 * made. */
ons_status *random_pipeline_decide(random_source *random, ons_arena *arena, random_pipeline *pipeline);

/* Everything in `arena`; the problem points into `pipeline`. */
ons_status *random_pipeline_make(uint64_t seed, ons_arena *arena, random_pipeline *pipeline);

#endif
