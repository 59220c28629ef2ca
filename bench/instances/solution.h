/* A solution as it was handed in: stages, what is computed again, and what every device does, in order. Reading checks
 * all that can be said without times. */
#ifndef ONSTAGE_BENCH_INSTANCES_SOLUTION_H
#define ONSTAGE_BENCH_INSTANCES_SOLUTION_H

#include "bench/instances/problem.h"

/* A tensor that is copied to the host and back for every micro-batch. Positions in the stage. */
typedef struct solution_swap {
    uint32_t tensor;
    uint32_t out_after;   /* the copy to the host begins behind its forward part */
    uint32_t in_before;   /* the copy back in front of its backward part */
    uint32_t gone_before; /* its forward part waits until the copy to the host has ended; NOBODY: none does */
} solution_swap;

typedef struct solution_stage {
    number_list nodes; /* in the order in which they run */
    uint32_t device;   /* of the first copy; the others' follow */
    uint32_t at_once;  /* micro-batches of the step that are one of its own */
    uint32_t copies;   /* which take its micro-batches in turn */
    solution_swap *swaps;
    uint32_t swap_count;
} solution_stage;

typedef struct solution_action {
    char kind; /* F forward, B backward, or apart I input and W weight gradients; U update */
    uint32_t stage, copy;
    uint32_t micro_batch; /* of the copy's own */
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
    uint32_t most_copies;    /* of a stage */
} solution;

/* Counts the micro-batches of the stage's own, of all copies. */
static inline uint32_t solution_micro_batches(const instance *in, const solution_stage *stage) {
    return in->micro_batches / stage->at_once;
}
/* Numbers the action's micro-batch among all of the stage: it has the step's from number * at_once on. */
static inline uint32_t solution_number(const solution *s, const solution_action *a) {
    return a->micro_batch * s->stages[a->stage].copies + a->copy;
}
/* Gives the device that the action is on. */
static inline uint32_t solution_device(const solution *s, const solution_action *a) {
    return s->stages[a->stage].device + a->copy;
}
/* Tests whether a copy of the stage lies on the device. */
static inline bool solution_holds(const solution_stage *stage, uint32_t device) {
    return device >= stage->device && device - stage->device < stage->copies;
}

/* `json`: the members "stages" and "actions", or a plan of `onstage plan`, whose "decisions" hold them.
 * ONS_INVALID_DATA says what is wrong: a node in no stage or in two, in front of one that it reads, an action missing,
 * twice or on another device, stages that wait for each other in a circle, … Everything in `arena`. */
ons_status *solution_parse(const instance *in, const void *json, size_t size, ons_arena *arena, solution *solution);

#endif
