/* How many micro-batches a device keeps something of from one of their parts to another (parts:
 * graph/execution_order.h). */
#ifndef ONSTAGE_PLANNER_SCHEDULE_PLACES_H
#define ONSTAGE_PLANNER_SCHEDULE_PLACES_H

#include "graph/execution_order.h"
#include "planner/schedule/schedule.h"

typedef struct ons_device_places {
    uint32_t chunks;        /* stages on the device */
    uint32_t micro_batches; /* that it computes in a step, each in all of its stages */
    /* [part · parts + later part]: micro-batches between the beginning of the one and the end of the other at once, at
     * most, whatever parts lie between them; 0: those between them, in their order, are all that runs in between. */
    const uint32_t *of;
    const uint32_t *at; /* [part · micro-batches + micro-batch]: where the list has it */
    bool ordered;       /* each micro-batch goes through the device's parts in the order of their numbers */
} ons_device_places;

/* Finds the places by the device's list. Everything in `arena`. */
ons_status *ons_schedule_places(const ons_schedule *schedule, uint32_t device, ons_arena *arena,
                                ons_device_places *places);

#endif
