/* FlexPipe's generator ("A Flexible Programmable Pipeline Parallelism Framework for Efficient DNN Training", Jiang et
 * al., 2025, sections 4 and 5): a schedule follows from where stages are placed and from which of the parts that could
 * run a device prefers.
 *
 *   pool ──▶ per device: [forward parts that are ready] [backward parts that are ready] ──▶ one of them a step ──▶ list
 *
 * All devices take their steps together, each with one part or none. What a device has done in a step, devices know
 * from the next step on. Of a stage the smaller micro-batch always comes first.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_FLEXPIPE_H
#define ONSTAGE_PLANNER_SCHEDULE_FLEXPIPE_H

#include "planner/schedule/schedule.h"

/* With D devices. Figure 1. */
typedef enum ons_placement {
    ONS_PLACEMENT_ONE_TO_ONE, /* stage s is on device s */
    ONS_PLACEMENT_CIRCULAR,   /* on s mod D */
    ONS_PLACEMENT_V, /* forth and back: stages 0 … D - 1, then D … 2D - 1 in the opposite order, and so on */
} ons_placement;

/* The "computation type traversal priority". */
typedef enum ons_type_priority {
    ONS_BACKWARD_FIRST,
    ONS_FORWARD_FIRST,
    ONS_INTERLEAVED, /* so many forward parts, so many backward parts; the other type where there is none */
} ons_type_priority;

/* The "stage traversal priority": which of a device's stages goes first. */
typedef struct ons_stage_priority {
    bool depth_first;  /* later stages first; else earlier ones */
    uint32_t interval; /* parts of one stage before it is the next stage's turn, in that direction and around; 0: the
                          first stage that is ready, each time */
} ons_stage_priority;

typedef struct ons_flexpipe_options {
    ons_placement placement;
    ons_type_priority type;
    uint32_t forward_unit, backward_unit; /* of ONS_INTERLEAVED; 0: 1 */
    ons_stage_priority forward, backward;
    /* Micro-batches between their forward and backward parts. NULL: no limit. */
    const uint32_t *stage_limits;  /* [stage], each at least 1 */
    const uint32_t *device_limits; /* [device], over all its stages, at least one for each of them; of these, places are
                                      kept free for the way of a micro-batch through the device's later stages */
} ons_flexpipe_options;

/* Generates the schedule of `options`: for a generator's `generate`. */
ons_status *ons_flexpipe_schedule(const ons_flexpipe_options *options, const ons_pipeline *pipeline, ons_arena *arena,
                                  ons_action_list *lists);

/* Makes a generator with these options. `options` and `name` outlive it. */
ons_status *ons_generator_of_flexpipe(const ons_flexpipe_options *options, const char *name, ons_arena *arena,
                                      const ons_generator **generator);

#endif
