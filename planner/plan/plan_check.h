/* Whether a plan's file still agrees with itself, for whoever runs or simulates it: a person may have changed it. */
#ifndef ONSTAGE_PLANNER_PLAN_PLAN_CHECK_H
#define ONSTAGE_PLANNER_PLAN_PLAN_CHECK_H

#include "planner/plan/plan.h"

/* Notes what the costs of a stage are of: digests of its decisions. Texts in `arena`. */
ons_status *ons_plan_note_made_for(ons_plan_stage *stage, ons_arena *arena);

/* Checks whether the actions are those of a step: each once, with an update after every backward part (asynchronous) or
 * after the last one (synchronous). ONS_INVALID_DATA, naming the list, otherwise. */
ons_status *ons_plan_check_actions(const ons_plan *plan, ons_arena *arena);

/* Checks whether the actions can be run in their order, as stages wait for each other by the links that costs name.
 * ONS_INVALID_DATA, naming the action that is stuck, otherwise. */
ons_status *ons_plan_check_order(const ons_plan *plan, ons_arena *arena);

/* Checks whether the layout has places for all that waits under these actions. ONS_INVALID_DATA, naming the stage,
 * otherwise.
 */
ons_status *ons_plan_check_places(const ons_plan *plan);

/* Checks whether each tensor of a stage is decided once, and each node that is named is in one stage. ONS_INVALID_DATA,
 * naming the stage, otherwise. */
ons_status *ons_plan_check_stages(const ons_plan *plan);

/* Checks whether stages, swaps and recomputations are those that costs and layout were made for (a file that does not
 * say what those were is taken as it is), and the layout is no larger than the capacity. ONS_INVALID_DATA, naming the
 * field, otherwise. */
ons_status *ons_plan_check_costs(const ons_plan *plan, ons_arena *arena);

#endif
