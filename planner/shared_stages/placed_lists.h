/* What every device of a plan computes, in order: actions name stage, copy and part (as `micro_batch`). */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_PLACED_LISTS_H
#define ONSTAGE_PLANNER_SHARED_STAGES_PLACED_LISTS_H

#include "planner/schedule/flexpipe.h"
#include "planner/shared_stages/placed_plan.h"

/* What a device prefers of what it could run: FlexPipe's priorities (planner/schedule/flexpipe.h), and what is new
 * where stages lie on many devices. */
typedef struct ons_placed_order {
    ons_type_priority type;
    bool forward_depth_first, backward_depth_first; /* later stages first */
    bool together_first;    /* of a type, stages whose copies work together before others: many devices wait for them */
    bool apart;             /* weight gradients apart, put off until there is nothing else that could run */
    bool lockstep;          /* chosen as if each part took one step, and messages and collectives nothing, as FlexPipe's
                               generator does; else by the plan's times */
    const uint32_t *limits; /* [stage]: parts of a copy in flight, each at least 1; NULL: no limit */
} ons_placed_order;

/* Generates the lists: whenever a device is free it takes, of the parts that could run, the one it prefers. Updates
 * come last. Limits under which no device can go on are ONS_INVALID_ARGUMENT. `lists`: one for each device, in `arena`.
 */
ons_status *ons_placed_lists_make(const ons_placed_plan *plan, const ons_placed_order *order, ons_arena *arena,
                                  ons_action_list **lists);

/* Parts in flight that 1F1B has: of a line of stages, as many as lie from it to the line's end; copies in turn share
 * them. `extra`: so many more, of a last stage one at most. A barrier's group fits. For `limits`; in `arena`. */
ons_status *ons_placed_limits(const ons_placed_plan *plan, uint32_t extra, ons_arena *arena, uint32_t **limits);

/* Empty lists with room for all that their devices run. */
ons_status *ons_placed_lists_reserve(const ons_placed_plan *plan, ons_arena *arena, ons_action_list **lists);

/* Checks lists, whoever made them, by running them:
 * - every copy runs its parts, each once, on its device: forward parts in ascending order, gradients in ascending order
 *   (the order in which they are added decides the bits of the result), and behind them one update;
 * - a backward part is whole or in two, input before weight gradient;
 * - no list waits for what a list has behind what waits for it. What is sent has room where it goes.
 * The failure names the action that is wrong, or the first one that is stuck. */
ons_status *ons_placed_lists_check(const ons_placed_plan *plan, const ons_action_list *lists, ons_arena *arena);

#endif
