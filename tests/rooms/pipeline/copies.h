/* Schedules of stages that have copies, for tests: lists by hand, without a planner. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_COPIES_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_COPIES_H

#include "planner/schedule/schedule.h"

/* Stage s has copies[s] copies, and each feeds the next one. A copy computes its forward parts one after the other and
 * its backward parts behind them where `all_forward_first`; else it begins its first backward part as soon as the
 * copies behind it have their hands full, and takes turns from there. Verified; everything in `arena`. */
ons_status *copies_schedule(const uint32_t *copies, uint32_t stages, uint32_t micro_batches, bool all_forward_first,
                            ons_arena *arena, ons_schedule *schedule);

#endif
