/* The time of a step from the times of its stages, by one walk through the schedule's actions: a search looks at
 * thousands of splits, the simulator (planner/simulate/pipeline_simulation.h) has the last word on a few.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_STEP_ESTIMATE_H
#define ONSTAGE_PLANNER_PARTITION_STEP_ESTIMATE_H

#include "planner/schedule/schedule.h"

/* Seconds. */
typedef struct ons_step_stage {
    double forward, backward; /* of a micro-batch */
    double weight;            /* of `backward`: weight gradients, where they are parts of their own */
    double update;            /* of a step; asynchronous: of a micro-batch */
    double arrive, back;      /* over the cut in front of the stage: what it reads, and the gradients that it returns */
    double travel;            /* of each of these, at its end: the way is free for the next one */
    double slack, slack_back; /* by how much it may come later without holding anybody: it leaves before the end of the
                                 part that makes it, and is read after the beginning of the other one */
    double slack_weight;      /* of slack_back: weight gradients */
} ons_step_stage;

/* A schedule's actions in an order in which each stands behind what it waits for, which does not depend on times; and
 * scratch memory. */
typedef struct ons_step_walk {
    uint32_t micro_batches; /* of a step */
    ons_schedule schedule;  /* that is walked: a step, or a stretch of a pipeline without end */
    const ons_action *order;
    uint32_t count;
    const uint32_t *lowest; /* [device]: its first stage */
    const bool *apart;      /* [device]: weight gradients of one of its stages are parts of their own */
    double *device, *load;  /* [device]: when it is free; seconds of all its stages */
    /* [copy · stages + stage]: when the way behind it, and the way back in front of it, is free; `links` of them */
    double *link, *link_back;
    uint32_t links;
    double *sent, *returned; /* [stage · micro-batches + micro-batch]: when its result, and its gradient, has come */
} ons_step_walk;

/* `schedule` (NULL: the pipeline's own) stays where it is. Everything in `arena`. Lists that hang are
 * ONS_INVALID_DATA. */
ons_status *ons_step_walk_make(const ons_pipeline *pipeline, const ons_schedule *schedule, ons_arena *arena,
                               ons_step_walk *walk);

/* Estimates the seconds of a step: as simulated where the stages are a chain and nothing is copied to the host; copies,
 * values that skip stages, halves of forward parts and the receiver's room are not looked at. Asynchronous: a step is
 * as many micro-batches of the steady state, which some pipelines take longer to reach than is looked at here.
 * O(actions), asynchronous O(stages²). */
double ons_step_estimate(const ons_step_walk *walk, const ons_step_stage *stages);

/* Gives the most that a micro-batch may take on stage `stage` for a step within `limit` seconds, whatever the rest of
 * it is.
 */
double ons_step_most(const ons_step_walk *walk, const ons_step_stage *stages, uint32_t stage, double limit);

/* Gives a lower bound of ons_step_estimate: the first micro-batch's way to a device, the device's own work, and the
 * last one's way back. O(stages). */
double ons_step_bound(const ons_step_walk *walk, const ons_step_stage *stages);

#endif
