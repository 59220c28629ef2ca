/* Lists of a chain of stages, each with a device and micro-batches of its own size. */
#ifndef ONSTAGE_TESTS_PIPELINE_PACED_LISTS_H
#define ONSTAGE_TESTS_PIPELINE_PACED_LISTS_H

#include "planner/schedule/schedule.h"

/* Makes a generator of them: backward parts as soon as they can, forward parts as long as no more than `in_flight` of
 * the stage's micro-batches wait for their backward parts (0: as long as there are any, and before all backward parts),
 * or as many as it takes to come to the end. `sizes`: [stage], in units of a step of so many. */
ons_status *paced_lists_make(uint32_t stages, uint32_t units, const uint32_t *sizes, uint32_t in_flight,
                             ons_arena *arena, const ons_generator **generator);

#endif
