/* What the configuration asks the planner. */
#ifndef ONSTAGE_ENGINE_PLAN_PROBLEM_H
#define ONSTAGE_ENGINE_PLAN_PROBLEM_H

#include "engine/config/config.h"
#include "planner/cost/device_profile.h"
#include "planner/partition/partition.h"

/* Strategies, schedule, number of stages, device with its links and capacity; the workload and the number of
 * micro-batches are the caller's. Names live in `arena`. */
ons_status *ons_problem_pose(const ons_config *config, ons_arena *arena, ons_device_profile *profile,
                             const ons_partition_strategy **strategy, ons_planning_problem *problem);

/* Copies to the host are made by processors, too: where all of this machine's compute, those do it. With how many
 * such devices that is so; 0: never. */
ons_status *ons_problem_charged_devices(const ons_config *config, const ons_device_profile *profile, uint32_t *devices);

/* What was asked for beside the usual strategies: "--partition uniform --memory-strategy none"; NULL: nothing. In
 * `arena`. */
ons_status *ons_problem_find_asked(const ons_config *config, ons_arena *arena, const char **asked);
/* The usual strategies' names, of partition and memory. */
extern const char ons_usual_partition[], ons_usual_memory[];

#endif
