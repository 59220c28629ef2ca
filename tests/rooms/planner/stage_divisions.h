/* All ways to divide a small graph into stages, tried one after another: what searches are compared with. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_STAGE_DIVISIONS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_STAGE_DIVISIONS_H

#include "planner/stage_graph/interval_costs.h"
#include "planner/stage_graph/series_parallel.h"

/* Gives the time for a sample of the best division that the parts of the graph allow
 * (planner/stage_graph/division_search.h), in whatever arrangement, with 1F1B and micro-batches of `samples`; infinite:
 * none fits. `edges` of the plan decide what is in flight. At most 16 nodes. */
ons_status *best_allowed_division(const ons_graph_problem *problem, int64_t samples, double *seconds);

/* Gives that of the best division into any stages that depend on each other without a circle. Memory is not looked at.
 * At most 16 nodes. */
ons_status *best_division(const ons_graph_problem *problem, int64_t samples, double *seconds);

/* Gives that of the best division of the nodes as they stand, run as a line, under the problem's memory, with replicas:
 * a plain dynamic program over (first node, devices, stages). `graph`: in `arena`, predicted. */
ons_status *best_line(const ons_graph_problem *problem, int64_t samples, ons_arena *arena, ons_stage_graph *graph);

#endif
