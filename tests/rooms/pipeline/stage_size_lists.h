/* Lists of a chain of stages, each with micro-batches of its own size, and copies on a device each. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_STAGE_SIZE_LISTS_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_STAGE_SIZE_LISTS_H

#include "planner/schedule/schedule.h"

typedef struct stage_size_lists {
    uint32_t stages, units; /* units of a step */
    const uint32_t *sizes;  /* [stage], in units */
    const uint32_t *copies; /* [stage]; NULL: one of each */
    uint32_t in_flight;
} stage_size_lists;

/* Makes a schedule of them: backward parts as soon as they can, forward parts as long as no more than `in_flight` of
 * the copy's micro-batches wait for their backward parts (0: as long as there are any, and before all backward parts),
 * or as many as it takes to come to the end. Everything in `arena`. */
ons_status *stage_size_lists_make(const stage_size_lists *wanted, ons_arena *arena, ons_schedule *schedule);

#endif
