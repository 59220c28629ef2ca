/* The devices of a schedule, by what they hold: those that have copies of the same stages are a group. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_DEVICE_GROUPS_H
#define ONSTAGE_PLANNER_SCHEDULE_DEVICE_GROUPS_H

#include "planner/schedule/schedule.h"

/* Copy c of the group's stages is on device `first` + c. */
typedef struct ons_device_group {
    uint32_t first, copies;
} ons_device_group;

typedef struct ons_device_groups {
    const ons_device_group *items; /* by their first device, ascending */
    uint32_t count;
    const uint32_t *of_device, *of_stage; /* number of the group */
    uint32_t most_copies;                 /* of any group */
} ons_device_groups;

/* Finds the groups of a schedule that was taken (ons_schedule_take); without copies each device is one. Everything in
 * `arena`. */
ons_status *ons_device_groups_find(const ons_schedule *schedule, ons_arena *arena, ons_device_groups *groups);

/* Makes a device's list shorter by itself, for a step of which a copy has `micro_batches` and others may have one more:
 * what belongs to the rest is left out, and the update of all comes behind the last gradient that is left. Synchronous;
 * in `arena`. */
ons_status *ons_device_list_shorten(const ons_action_list *list, uint32_t micro_batches, ons_arena *arena,
                                    ons_action_list *shorter);

#endif
