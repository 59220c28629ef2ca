/* Chimera's lists (planner/schedule/chimera.h) for a plan with copies, whose actions count parts as the plan does. */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_CHIMERA_H
#define ONSTAGE_PLANNER_SHARED_STAGES_CHIMERA_H

#include "planner/shared_stages/placed_plan.h"

/* Makes the lists of a plan that is a line of D stages on D devices both ways, one on each device, with D parts, D
 * even: other plans are ONS_INVALID_ARGUMENT. `lists`: one for each device, in `arena`. */
ons_status *ons_chimera_lists(const ons_placed_plan *plan, ons_arena *arena, ons_action_list **lists);

#endif
