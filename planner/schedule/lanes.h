/* How a schedule is carried out whose devices hold copies of two stages crosswise (schedule.h): each copy has a lane,
 * with a list, an arena and a worker of its own, and the lanes of a device take turns as the device's list says.
 *
 *   device 0    0.0F0  3.1F0  3.1B0  0.0B0      lane 0, stage 0.0: F0 B0      lane 7, stage 3.1: F0 B0
 *   device 3    3.0F0  0.1F0  ...               lane 6, stage 3.0             lane 1, stage 0.1
 *
 * Lanes are a schedule like any other, with copies in a row: what cuts, verifies and runs schedules knows no more.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_LANES_H
#define ONSTAGE_PLANNER_SCHEDULE_LANES_H

#include "planner/schedule/schedule.h"

typedef struct ons_schedule_lanes {
    /* Its devices are the lanes, copy after copy of stage after stage. Loads and ticks are those of the devices: they
     * say what room messages need. A schedule that is not crossed stays as it is, and each device is a lane. */
    ons_schedule schedule;
    const uint32_t *device; /* [lane]: that it lies on */
    const uint32_t *beside; /* [lane]: the other one on its device; NULL: no device has two */
    /* [lane][2 · micro-batch + 1 where it is a backward part]: where the device's list has it;
     * NULL: no device has two lanes */
    const uint32_t *const *places;
} ons_schedule_lanes;

/* Counts the lanes of the schedule that the pipeline's generator makes. */
static inline uint32_t ons_pipeline_lanes(const ons_pipeline *pipeline) {
    return ons_pipeline_devices(pipeline) * (pipeline->generator->group == NULL ? 1 : 2);
}

/* Finds the lanes of a schedule that was taken (ons_schedule_take). In `arena`. */
ons_status *ons_schedule_lanes_find(const ons_schedule *schedule, ons_arena *arena, ons_schedule_lanes *lanes);

#endif
