/* A schedule whose devices take turns: in each, every device computes its next action if what that reads of the stage
 * before, or of the stage behind, was made in an earlier turn. With as much room for messages as this order needs, no
 * order hangs that does not hang without any messages. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_TURNS_H
#define ONSTAGE_PLANNER_SCHEDULE_TURNS_H

#include "planner/schedule/schedule.h"

/* Sets forward_turns and backward_turns; lists that hang have actions without. In `arena`. */
ons_status *ons_schedule_take_turns(ons_schedule *schedule, ons_arena *arena);

#endif
