/* A schedule runs in lockstep: in each tick, every device computes its next action if what that reads of the stage
 * before, or of the stage behind, was made in an earlier tick. The room for messages is what this order needs. With so
 * much room lists hang only where they would hang with unlimited room, too: verification and the transports rely on
 * it. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_LOCKSTEP_H
#define ONSTAGE_PLANNER_SCHEDULE_LOCKSTEP_H

#include "planner/schedule/schedule.h"

/* Sets forward_ticks and backward_ticks, in `arena`; where lists hang, some actions have no tick. */
ons_status *ons_schedule_run_lockstep(ons_schedule *schedule, ons_arena *arena);

#endif
