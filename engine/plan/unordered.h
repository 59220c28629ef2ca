/* Lists that let a device make weight gradients of one stage after input gradients of an earlier one: what is swapped,
 * or computed again, for both at once has no place in such a list that is known to come first. */
#ifndef ONSTAGE_ENGINE_UNORDERED_H
#define ONSTAGE_ENGINE_UNORDERED_H

#include "graph/passes/cut.h"
#include "planner/schedule/schedule.h"

/* ONS_UNSUPPORTED where that is so, with the tensor's name. All processes come to the same. */
ons_status *ons_check_unordered(const ons_schedule *schedule, const ons_cut *cut);

#endif
