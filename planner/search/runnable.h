/* Whether lists can run with the room that receivers have for messages. */
#ifndef ONSTAGE_PLANNER_SEARCH_RUNNABLE_H
#define ONSTAGE_PLANNER_SEARCH_RUNNABLE_H

#include "planner/schedule/schedule.h"

/* Tests what ons_schedule_verify checks, of stages that each feed the next one. */
ons_status *ons_schedule_can_run(const ons_schedule *schedule, bool *can);

#endif
