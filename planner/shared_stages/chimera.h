/* Chimera ("Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines", Li and Hoefler,
 * 2021, sections 3.1 and 3.2): two pipelines over the same devices in opposite directions, each with half of the
 * micro-batches, put into each other without a conflict.
 *
 *   D = N = 4, in slots of one part; a, b: even micro-batches, down; A, B: odd ones, up
 *   device 0    a . b A A'B B'a'. b'
 *   device 1    . a A b B A'a'B'b'.
 *   device 2    . A a B b a'A'b'B'.
 *   device 3    A . B a a'b b'A'. B'
 *
 * With N = D micro-batches on D devices, forward parts of f and backward parts of b seconds, b >= f, a step takes
 * N f + (N + D - 2) b: D - 2 bubbles of a backward part on the critical path, which is D - 2 of 2 N + D - 2 slots for
 * b = f, and the paper's (D - 2) / (3/2 N + D - 2) for b = 2 f.
 */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_CHIMERA_H
#define ONSTAGE_PLANNER_SHARED_STAGES_CHIMERA_H

#include "planner/shared_stages/placed_plan.h"

/* Makes the lists of a plan that is a line of D stages on D devices both ways, one on each device, with D parts, D
 * even: other plans are ONS_INVALID_ARGUMENT. `lists`: one for each device, in `arena`. */
ons_status *ons_chimera_lists(const ons_placed_plan *plan, ons_arena *arena, ons_action_list **lists);

#endif
