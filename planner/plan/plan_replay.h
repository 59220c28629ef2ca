/* A plan simulated again, from what the plan itself says: no model, no workload. */
#ifndef ONSTAGE_PLANNER_PLAN_PLAN_REPLAY_H
#define ONSTAGE_PLANNER_PLAN_PLAN_REPLAY_H

#include "planner/plan/plan.h"
#include "planner/simulate/pipeline_simulation.h"

/* Gives the same times as ons_pipeline_simulate gave for what the plan was made from, and follows the plan's actions
 * where a person has changed them. Ownership as there. */
ons_status *ons_plan_replay(const ons_plan *plan, ons_arena *arena, ons_pipeline_forecast *forecast);

#endif
