/* --goal: how much is trained in all, as a number of samples. */
#ifndef ONSTAGE_ENGINE_REPORT_REPORT_GOAL_H
#define ONSTAGE_ENGINE_REPORT_REPORT_GOAL_H

#include "engine/plan/planning.h"
#include "planner/report/goal.h"

/* Fails with a message that names the option; goal->samples 0: none was given. `epoch_samples` 0: not known. */
ons_status *ons_report_read_goal(const ons_planning *planning, int64_t epoch_samples, ons_goal *goal);

#endif
