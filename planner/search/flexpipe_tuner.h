/* FlexPipe's tuner ("A Flexible Programmable Pipeline Parallelism Framework for Efficient DNN Training", Jiang et al.,
 * 2025, sections 6 and 7.1): the fastest schedule of a space that fits, and the best of each placement.
 *
 * The paper keeps, of each pair of pp and mbs, what has the least bubbles, and runs those. Within a pair, where devices
 * have the same work whatever the schedule, least bubbles and least time are the same; between pairs, time decides.
 * Bubbles are those of the times that nodes take, not of the generator's steps.
 *
 *   groups (pp, mbs, placement) by a lower bound of their step ──▶ lists of each type, equal ones once ──▶ estimate
 *     ──▶ from the least estimate on, simulated until no estimate is below the best
 *
 * Where stages are a chain the estimate is never above the simulation, and what is left out is then not faster.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_FLEXPIPE_TUNER_H
#define ONSTAGE_PLANNER_SEARCH_FLEXPIPE_TUNER_H

#include "planner/partition/partition.h"
#include "planner/search/flexpipe_space.h"

/* The work of a micro-batch of `samples`; it stays where it is. */
typedef struct ons_flexpipe_works {
    ons_status *(*find)(void *context, int64_t samples, const ons_workload **work);
    void *context;
} ons_flexpipe_works;

typedef struct ons_flexpipe_found {
    ons_flexpipe_sizes sizes;
    ons_flexpipe_type type;
    bool separated; /* weight gradients were put off into bubbles */
    const ons_workload *work;
    ons_pipeline pipeline; /* with a generator of the schedule */
    ons_schedule *schedule;
    uint32_t *first;     /* cuts, even in time */
    double step_seconds; /* simulated, with what copies exchange */
    double bubble_share; /* of the time of a pipeline's devices */
    int64_t bytes;       /* of the fullest device */
    bool feasible;
} ons_flexpipe_found;

typedef struct ons_flexpipe_tuning {
    uint64_t points;          /* of the space */
    uint64_t made, different; /* of these: lists made; of these: unlike the others of their group */
    uint64_t refused;         /* of these: hang with the room that receivers have for messages */
    uint64_t simulated;
    ons_flexpipe_found best;               /* where nothing is feasible: what needs least memory */
    ons_flexpipe_found of[ONS_PLACEMENTS]; /* [placement]: its best; schedule NULL: none was simulated */
} ons_flexpipe_tuning;

typedef struct ons_flexpipe_tuner {
    ons_flexpipe_space space;
    ons_flexpipe_works works;
    bool exhaustive; /* every point is made and simulated, nothing is left out */
    bool separate; /* of the best of the two fastest placements, weight gradients are put off into bubbles where that is
                      faster */
} ons_flexpipe_tuner;

/* Tunes the schedule. Of the problem, links and capacity are looked at. Everything in `arena`. */
ons_status *ons_flexpipe_tune(const ons_planning_problem *problem, const ons_flexpipe_tuner *tuner, ons_arena *arena,
                              ons_flexpipe_tuning *tuning);

#endif
