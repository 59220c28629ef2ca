/* The search with a cap for each stage, whatever else lies on its device. */
#ifndef ONSTAGE_PLANNER_SEARCH_PLANNER_SEARCH_H
#define ONSTAGE_PLANNER_SEARCH_PLANNER_SEARCH_H

#include "planner/search/planner.h"

/* Searches as ons_planner_search does, for a problem with a schedule; `any_order`: in several orders of the nodes.
 * planning_seconds is not said. */
ons_status *ons_planner_search_stages(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                      bool any_order, ons_arena *arena, ons_planned *planned);

/* Evaluates the cuts of planned->partition for planned->problem, and takes what its memory strategy decides. */
ons_status *ons_planned_evaluate(ons_planned *planned, ons_arena *arena);

/* Copies the decisions of planned->solutions to `arena`, before the costs of stages that own them are freed. */
ons_status *ons_planned_copy_decisions(ons_planned *planned, ons_arena *arena);

#endif
