/* Refuses swaps and recomputation that some lists leave no place for. A list may put the weight gradients of a stage
 * behind the input gradients of an earlier stage of the same device. A tensor that both read would have to be copied
 * back, or computed again, before whichever comes first, and which one that is differs between micro-batches. */
#ifndef ONSTAGE_ENGINE_PLAN_SWAP_ORDER_CHECK_H
#define ONSTAGE_ENGINE_PLAN_SWAP_ORDER_CHECK_H

#include "graph/passes/cut.h"
#include "planner/schedule/schedule.h"

/* ONS_UNSUPPORTED where that is so, with the tensor's name. All processes come to the same. */
ons_status *ons_swap_order_check(const ons_schedule *schedule, const ons_cut *cut);

#endif
