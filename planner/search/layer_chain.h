/* A model as a chain of layers, the input of planners that choose replicas by stage: DAPPLE's and Piper's, as their
 * papers describe them. Replicas of a stage share its micro-batches: each takes its part of every one (DAPPLE), or they
 * take them in turn (Piper), which is the same load. They add their gradients up at the end of a step.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_LAYER_CHAIN_H
#define ONSTAGE_PLANNER_SEARCH_LAYER_CHAIN_H

#include "planner/partition/partition.h"

/* Of one layer, for a micro-batch. */
typedef struct ons_chain_layer {
    double forward, backward;                 /* seconds */
    int64_t activation_bytes, gradient_bytes; /* over the cut in front: what comes, and what goes back */
    int64_t parameter_bytes;                  /* gradients that replicas add up */
    int64_t saved_bytes;                      /* of each micro-batch in flight */
    int64_t held_bytes;                       /* all the time: weights, gradients, states; and what is made again */
} ons_chain_layer;

typedef struct ons_layer_chain {
    const ons_planning_problem *problem; /* links, capacity, micro-batches of a step */
    ons_chain_layer *layers;
    uint32_t count;
} ons_layer_chain;

/* Makes the chain of a problem's layers; what a layer's nodes need while they run counts as held. In `arena`. */
ons_status *ons_layer_chain_make(const ons_planning_problem *problem, ons_arena *arena, ons_layer_chain *chain);

typedef struct ons_replicated_plan {
    uint32_t stages;    /* 0: none fits */
    uint32_t *first;    /* stages + 1, in layers */
    uint32_t *replicas; /* [stage] */
    double seconds;     /* what the planner minimised: DAPPLE's of a step, Piper's of a micro-batch */
} ons_replicated_plan;

/* DAPPLE (Fan et al., PPoPP 2021, section 4): the least latency of a step, in which the stage with the fewest bubbles,
 * the pivot, sets the pace; memory is not looked at. Plans of the first layers on some devices, the rest being one
 * stage on the others, are made longer by splitting that rest: each keeps the best way so far. Plans of fewer than
 * `least_stages` are passed over. */
ons_status *ons_dapple_plan(const ons_layer_chain *chain, uint32_t devices, uint32_t least_stages, ons_arena *arena,
                            ons_replicated_plan *plan);

/* Piper (Tarnawski et al., NeurIPS 2021), without tensor parallelism: the least time per micro-batch, that of the
 * slowest stage, with its transfers and its share of adding gradients up. A stage of d replicas in front of stages that
 * take s devices with it holds ceil(s / d) micro-batches, and the sums of its layers' bytes must fit: so what layers
 * make again, one after another, counts for all of them at once. `stages` 0: any number. Of equal plans the one whose
 * first stages have fewest layers, and fewest replicas, is taken. */
ons_status *ons_piper_plan(const ons_layer_chain *chain, uint32_t devices, uint32_t stages, ons_arena *arena,
                           ons_replicated_plan *plan);

#endif
