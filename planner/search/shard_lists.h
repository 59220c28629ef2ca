/* Lists of actions for the stages of a model with shards: 1F1B's, where a device has several stages and takes of their
 * parts the one that it prefers. */
#ifndef ONSTAGE_PLANNER_SEARCH_SHARD_LISTS_H
#define ONSTAGE_PLANNER_SEARCH_SHARD_LISTS_H

#include "planner/search/shard_cuts.h"
#include "planner/search/shard_cycle.h"
#include "planner/shared_stages/placed_lists.h"

/* A way to make lists. */
typedef struct ons_shard_way {
    bool cyclic; /* by `cycle`; else by the next two */
    ons_shard_cycle cycle;
    ons_placed_order order; /* without its limits */
    uint32_t extra;         /* micro-batches in flight beyond those of 1F1B */
} ons_shard_way;

/* All ways, those that are mostly fast first; in `arena`. */
ons_status *ons_shard_ways_list(ons_arena *arena, ons_shard_way **ways, uint32_t *count);

/* Makes the plan that lists are made for, with the computing of these stages, and messages over links that are free
 * when they are wanted. In `arena`. */
ons_status *ons_shard_placed_plan(const ons_planning_problem *problem, const ons_shard_order *order,
                                  const uint32_t *first, ons_arena *arena, ons_placed_plan *plan);

/* Makes the schedule, in `arena`. A way in which no device can go on is ONS_INVALID_ARGUMENT; whether messages have
 * room is not looked at. `tried`: see ons_shard_cycle_lists. */
ons_status *ons_shard_schedule(const ons_placed_plan *plan, const ons_shard_way *way, ons_arena *arena,
                               ons_schedule *schedule, uint64_t *tried);

#endif
