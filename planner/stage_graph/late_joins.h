/* Sums of many branches come as chains of sums of two: each of these waits for more than one branch and belongs to
 * none, and stages that lie in a row because of them fill one after the other. A cheap node may as well wait for all
 * branches:
 *
 *    a ─┐                                  a ─┐
 *    b ─┴▶ + ─┐            becomes         b ─┼▶ + ─▶ +
 *    c ───────┴▶ +                         c ─┘
 */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_LATE_JOINS_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_LATE_JOINS_H

#include "planner/stage_graph/series_parallel.h"

/* Puts cheap nodes in which branches of a branch end behind all branches beside these, the longest branch first.
 * `graph`: of the workload, as ons_series_parallel_make gives it. `changed`: there were such nodes. In `arena`. */
ons_status *ons_series_parallel_join_late(const ons_series_parallel *graph, const ons_workload *work, ons_arena *arena,
                                          ons_series_parallel *late, bool *changed);

#endif
