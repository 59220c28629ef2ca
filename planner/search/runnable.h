/* Whether the action lists of a schedule can run to their end, where each receiver has room for as many messages as
 * ons_schedule_room says: the search leaves out those that would hang. */
#ifndef ONSTAGE_PLANNER_SEARCH_RUNNABLE_H
#define ONSTAGE_PLANNER_SEARCH_RUNNABLE_H

#include "planner/schedule/schedule.h"

/* Tests what ons_schedule_verify checks, of stages that each feed the next one. */
ons_status *ons_schedule_can_run(const ons_schedule *schedule, bool *can);

#endif
