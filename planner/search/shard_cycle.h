/* Lists for stages of which devices hold several, by a cycle: in the middle of a step every device runs the parts of
 * its stages once in each period, in an order of its own, each part for the next micro-batch. No device waits there, as
 * the period is what the slowest one computes; how long a micro-batch is on its way, and so how many are in flight,
 * depends on the devices' orders and on when they begin.
 *
 *   device 0   │ F body │ F head │ B head │ B body    │ F body │ …        period: the slowest device's sum
 *   device 1   … B body │ F body │ F head │ B head │ B body    │ …
 *
 * Orders and beginnings are found by moving parts within a device's order, and its beginning, as long as micro-batches
 * get through sooner. A greedy choice (planner/shared_stages/placed_lists.h) fills and drains a pipeline faster, but
 * where short parts of many devices wait for each other it leaves gaps in every period.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_SHARD_CYCLE_H
#define ONSTAGE_PLANNER_SEARCH_SHARD_CYCLE_H

#include "planner/shared_stages/placed_plan.h"

typedef struct ons_shard_cycle {
    double slack;       /* of the period, beyond the slowest device's sum, relatively */
    double waiting;     /* how much the time counts in which stages keep micro-batches, against the whole way of one */
    uint64_t beginning; /* from which orders the search begins: 0: the natural ones, else by chance */
} ons_shard_cycle;

/* Makes the lists of a plan whose stages have a copy each, and take a sample at a time; updates come last. Whole
 * backward parts. In `arena`. `tried`: ways through the stages that the search tried are added to it. */
ons_status *ons_shard_cycle_lists(const ons_placed_plan *plan, const ons_shard_cycle *cycle, ons_arena *arena,
                                  ons_action_list **lists, uint64_t *tried);

#endif
