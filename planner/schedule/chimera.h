/* Chimera ("Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines", Li and Hoefler,
 * 2021, sections 3.1 and 3.2): two pipelines over the same devices in opposite directions, each with half of the
 * micro-batches, put into each other without a conflict. Every stage has two copies, which take its micro-batches in
 * turn: copy 0 of stage s on device s, copy 1 on device D - 1 - s. Their gradients are summed at the step's end.
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
 *
 * More micro-batches, N = K D, are K such units (section 3.5, direct concatenation): the next one's forward parts take
 * the bubbles at the end of the one before, whose other devices are still busy. A step is 2 N + D - 2 slots, with
 * the bubbles of one unit, for b = f; where b > f, some are left between the units, too.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_CHIMERA_H
#define ONSTAGE_PLANNER_SCHEDULE_CHIMERA_H

#include "planner/schedule/schedule.h"

/* Puts the actions of one device of `devices`, an even number, into a list with room for 2 · units · devices + 2 of
 * them; an action's micro-batch is numbered by its copy. Updates come last, the earlier stage's first on every device:
 * where both of a pair sum the gradients of two stages, they come to them in the same order. */
ons_status *ons_chimera_put_device(uint32_t devices, uint32_t units, uint32_t device, ons_arena *arena,
                                   ons_action_list *list);

#endif
