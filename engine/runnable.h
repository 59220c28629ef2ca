/* What training does not carry out yet of what can be planned and simulated. */
#ifndef ONSTAGE_ENGINE_RUNNABLE_H
#define ONSTAGE_ENGINE_RUNNABLE_H

#include "planner/schedule/schedule.h"

/* Each stage has a device of its own, and input and weight gradients are one backward part. */
bool ons_schedule_is_runnable(const ons_schedule *schedule);
/* Fails where it is not, with what does instead. */
ons_status *ons_schedule_check_runnable(const ons_schedule *schedule);
/* The same of what the pipeline's generator makes. */
ons_status *ons_pipeline_check_runnable(const ons_pipeline *pipeline);

#endif
