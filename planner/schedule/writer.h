/* For generators: lists that grow by an action at a time, into memory that is there. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_WRITER_H
#define ONSTAGE_PLANNER_SCHEDULE_WRITER_H

#include "planner/schedule/schedule.h"

static inline void ons_schedule_put(ons_action_list *list, ons_action_kind kind, uint32_t stage, uint32_t micro_batch) {
    list->items[list->count++] = (ons_action){.kind = kind, .stage = stage, .micro_batch = micro_batch};
}

/* Puts the actions of one stage: forward parts run ahead by `ahead` micro-batches, then forward and backward alternate
 * until the forward parts are used up. */
void ons_schedule_put_alternating(ons_action_list *list, const ons_pipeline *pipeline, uint32_t stage, uint32_t ahead);

/* Room in every list for `actions` of each of the device's stages and micro-batches, and an update of each stage. */
ons_status *ons_schedule_reserve(const ons_pipeline *pipeline, uint32_t actions, ons_arena *arena,
                                 ons_action_list *lists);

/* Checks the pipeline of a generator that puts each stage on a device of its own. */
ons_status *ons_schedule_check_straight(const ons_pipeline *pipeline);

#endif
