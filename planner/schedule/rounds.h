/* Several stages on a device, visited in rounds: a few micro-batches go through one stage of the device after another
 * before the next few begin. With D devices, device d holds stages d, D + d, 2D + d, … (circular placement). What
 * interleaved 1F1B and Pfeife's looped schedules have in common.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_ROUNDS_H
#define ONSTAGE_PLANNER_SCHEDULE_ROUNDS_H

#include "planner/schedule/schedule.h"

/* Fails where the devices would not hold equally many stages. */
ons_status *ons_rounds_check(const ons_pipeline *pipeline);

/* Rounds of `size` micro-batches; what does not fill a round of its own makes others larger by one, as evenly as can
 * be, since a round smaller than the number of devices leaves them waiting for each other. */
uint32_t ons_rounds_count(const ons_pipeline *pipeline, uint32_t size);
uint32_t ons_rounds_largest(const ons_pipeline *pipeline, uint32_t rounds);

/* Puts the lists: forward parts run ahead by ahead[device] parts of one stage and one micro-batch; then forward and
 * backward alternate until the forward parts are used up. */
ons_status *ons_schedule_put_rounds(const ons_pipeline *pipeline, uint32_t rounds, const uint32_t *ahead,
                                    ons_arena *arena, ons_action_list *lists);

#endif
