/* How many stages and how many replicas of all of them a number of devices is best given to (AutoPipe, Liu et al.,
 * CLUSTER 2022, section IV: the data-parallel degree is devices over stages). */
#ifndef ONSTAGE_PLANNER_SEARCH_DEGREES_H
#define ONSTAGE_PLANNER_SEARCH_DEGREES_H

#include "planner/search/planner.h"

typedef struct ons_degrees {
    uint32_t stages, replicas;
    ons_planned planned; /* of one replica */
    double step_seconds; /* simulated, with what replicas exchange */
    bool feasible;
} ons_degrees;

/* Plans each number of stages that divides the devices, in the order in which nodes stand, and simulates those that
 * fit. problem->pipeline.micro_batches are those of a step of all replicas: each has its share, the same for all, or
 * there is no such plan. Everything in `arena`. */
ons_status *ons_degrees_search(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               uint32_t devices, ons_arena *arena, ons_degrees *degrees);

#endif
