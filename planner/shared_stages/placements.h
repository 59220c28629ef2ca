/* Where the stages of a line lie (FlexPipe, figure 1): one after another along the devices, once or again and again,
 * forth and back, and both ways at once; and a barrier between lines. */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_PLACEMENTS_H
#define ONSTAGE_PLANNER_SHARED_STAGES_PLACEMENTS_H

#include "planner/schedule/flexpipe.h"
#include "planner/shared_stages/placed_plan.h"

typedef struct ons_placed_line {
    const ons_placed_stage *stages; /* costs; those that are `together` lie on all devices of the line */
    uint32_t count;
    uint32_t first_device, devices;
    ons_placement placement;
    bool both_ways; /* two copies of each stage, in turn: the second in the opposite order of devices */
    double message, gradient_message; /* seconds from a device to another */
} ons_placed_line;

/* Adds the line's stages behind those that the plan has, each with an edge from the one before, whose numbers are
 * *first and on. Stages that are not together fill the devices evenly, or ONS_INVALID_ARGUMENT. In `arena`. */
ons_status *ons_placed_plan_add_line(ons_placed_plan *plan, const ons_placed_line *line, ons_arena *arena,
                                     uint32_t *first);

/* Adds a stage that all of `last` feed, on all of their devices together: with parts of as many samples as the loss
 * takes at once, a barrier. `costs` has all but devices and copies. In `arena`. */
ons_status *ons_placed_plan_add_barrier(ons_placed_plan *plan, const ons_placed_stage *costs, const uint32_t *last,
                                        uint32_t count, ons_arena *arena);

#endif
