/* A solution as it was handed in: stages, what is computed again, and what every device does, in order. Reading checks
 * all that can be said without times. */
#ifndef ONSTAGE_BENCH_INSTANCES_SOLUTION_H
#define ONSTAGE_BENCH_INSTANCES_SOLUTION_H

#include "bench/instances/problem.h"

typedef struct solution_stage {
    number_list nodes; /* in the order in which they run */
    uint32_t device;
} solution_stage;

typedef struct solution_action {
    char kind; /* F forward, B backward, or apart I input and W weight gradients; U update */
    uint32_t stage, micro_batch;
} solution_action;

typedef struct solution_actions {
    solution_action *items;
    uint32_t count;
} solution_actions;

typedef struct solution {
    solution_stage *stages;
    uint32_t stage_count;
    solution_actions *lists; /* [device] */
    uint32_t *stage_of;      /* [node] */
    uint32_t *position_of;   /* [node]: in its stage */
    bool *recomputed;        /* [tensor] */
} solution;

/* `json`: the members "stages" and "actions", or a plan of `onstage plan`, whose "decisions" hold them.
 * ONS_INVALID_DATA says what is wrong: a node in no stage or in two, in front of one that it reads, an action missing,
 * twice or on another device, stages that wait for each other in a circle, … Everything in `arena`. */
ons_status *solution_parse(const instance *in, const void *json, size_t size, ons_arena *arena, solution *solution);

#endif
