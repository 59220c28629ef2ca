/* Gradient separation (FlexPipe, Jiang et al., 2025, section 5.2, "Bubble optimizations", figure 10), for any
 * synchronous schedule of whole backward parts: each is taken apart into input and weight gradient, and weight
 * gradients that hold up others are put off into bubbles.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_SEPARATE_H
#define ONSTAGE_PLANNER_SCHEDULE_SEPARATE_H

#include "planner/schedule/schedule.h"

/* A stage's times of one micro-batch, in any unit. */
typedef struct ons_stage_times {
    double forward, input, weight; /* a whole backward part takes the last two */
} ons_stage_times;

/* Separates gradients. The result is never slower than `schedule` where links take no time and stages take `times`
 * [stage]. Stage i holds in_flight[i] micro-batches, or as many as in `schedule` where that is more; in_flight NULL: as
 * the fullest stage of `schedule`. Each stage feeds the next one. Everything in `arena`. */
ons_status *ons_schedule_separate(const ons_schedule *schedule, const ons_stage_times *times, const uint32_t *in_flight,
                                  ons_arena *arena, ons_schedule *separate);

#endif
