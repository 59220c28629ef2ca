/* What each device of a problem can do, where they differ: GPUs of several kinds in one pipeline. */
#ifndef ONSTAGE_PLANNER_PARTITION_DEVICES_H
#define ONSTAGE_PLANNER_PARTITION_DEVICES_H

#include "planner/partition/partition.h"

static inline const ons_workload *ons_device_work(const ons_planning_problem *p, uint32_t device) {
    return p->devices == NULL ? p->work : p->devices[device].work;
}

/* Bytes of the device; 0: no limit. */
static inline int64_t ons_device_capacity(const ons_planning_problem *p, uint32_t device) {
    if (p->devices == NULL || p->capacity_bytes == 0) return p->capacity_bytes;
    int64_t bytes = p->capacity_bytes - p->devices[device].less_bytes;
    return bytes > 0 ? bytes : 1;
}

/* The workload in the times of a stage's device, of the stage's own micro-batches; the problem has a schedule where
 * devices differ. */
static inline const ons_workload *ons_stage_work(const ons_planning_problem *p, uint32_t stage) {
    if (p->stage_works != NULL) return p->stage_works[stage];
    return p->devices == NULL ? p->work : ons_device_work(p, p->schedule->device_of[stage]);
}
static inline int64_t ons_stage_capacity(const ons_planning_problem *p, uint32_t stage) {
    return p->devices == NULL ? p->capacity_bytes : ons_device_capacity(p, p->schedule->device_of[stage]);
}

/* Bytes that a device of the largest capacity would have free as few of: what is compared over devices that differ. */
static inline int64_t ons_device_demand(const ons_planning_problem *p, uint32_t device, int64_t bytes) {
    return p->devices == NULL ? bytes : bytes + p->devices[device].less_bytes;
}

/* Makes the workload with the least time that any of the devices takes for each part of a node; in `arena`. */
ons_status *ons_devices_least_work(const ons_planning_device *devices, uint32_t count, ons_arena *arena,
                                   ons_workload *work);

/* Makes the problem with its nodes in another order, on all devices; in `arena`. */
ons_status *ons_devices_reorder(const ons_planning_problem *problem, const uint32_t *order, ons_arena *arena,
                                ons_planning_problem *reordered);

#endif
