/* From a planning problem to a plan: partition, memory decisions of every stage, actions, prediction. */
#ifndef ONSTAGE_PLANNER_SEARCH_PLANNER_H
#define ONSTAGE_PLANNER_SEARCH_PLANNER_H

#include "planner/partition/partition.h"
#include "planner/plan/plan.h"
#include "planner/workload/print.h"

/* The split with the best bottleneck (the fastest slowest stage), where the simulated step decided for another one. */
typedef struct ons_best_bottleneck {
    double bottleneck_seconds, step_seconds;
} ons_best_bottleneck;

typedef struct ons_planned {
    const char *order;            /* of nodes: "file", or the name of an ons_order_kind */
    const uint32_t *node_at;      /* the node of the problem's workload at each position; NULL: as they stand there */
    ons_planning_problem problem; /* as posed, with the workload in that order: positions below are in it */
    ons_partition partition;
    ons_stage_solution *solutions; /* one a stage; NULL where partition.feasible is false */
    bool by_step; /* the simulated step decided, not the bottleneck: against `best_bottleneck` at least */
    ons_best_bottleneck best_bottleneck;
    double planning_seconds;
} ons_planned;

/* Searches, in several orders of the nodes where the strategy takes any; everything in `arena`. That nothing fits is no
 * failure of the search: see partition.feasible.
 *
 * The strategy's own choice is the split, and of the orders the one, with the fastest slowest stage. "auto" goes by the
 * problem's objective: splits that may be fast (planner/search/step_search.h) and those of the baselines are simulated,
 * and the fastest step is taken, asynchronous as many micro-batches of the steady state; of equal ones that with the
 * fastest slowest stage. */
ons_status *ons_planner_search(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                               ons_arena *arena, ons_planned *planned);

/* Searches in the order in which the nodes stand, and no other. */
ons_status *ons_planner_search_order(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                     ons_arena *arena, ons_planned *planned);

/* Adds up what a device's stages take: bytes[device], in `arena`. The plan is feasible. */
ons_status *ons_planned_sum_devices(const ons_planned *planned, ons_arena *arena, int64_t **bytes);

/* Puts what was found into a plan, by names; `plan->subject` is the caller's. Fails where nothing was feasible, with
 * the smallest capacity that would do. */
ons_status *ons_planner_fill(const ons_planned *planned, ons_arena *arena, ons_plan *plan);

#endif
