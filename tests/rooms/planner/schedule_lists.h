/* What lists of a synchronous or asynchronous schedule must be, looked at apart from the planner's own check. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_SCHEDULE_LISTS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_SCHEDULE_LISTS_H

#include "tests/rooms/planner/longest_path.h"
#include "tests/rooms/planner/random_work.h"

/* Each part exactly once, forward part before gradients, these in ascending order of micro-batches, updates behind
 * them, and no list waits for another for ever. What is wrong goes to `damage`. */
bool schedule_lists_are_good(const ons_schedule *schedule, ons_arena *arena, char damage[static 128]);

#endif
