/* AutoPipe's Slicer (Liu et al., CLUSTER 2022, section III-C): the first micro-batches' forward parts in two halves, so
 * that the last stage begins when half a micro-batch has come through.
 *
 *   stage 0   0a 0b 1  2 ..           The halves of a micro-batch pass from stage to stage one by one. Where the reader
 *   stage 1      0a 0b 1 ..           is still busy they go together, since it takes the micro-batch whole: there the
 *   stage 2         0a 0b B0 ..       forward part stands behind a backward part. Backward parts stay whole.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_SLICER_H
#define ONSTAGE_PLANNER_SCHEDULE_SLICER_H

#include "planner/schedule/schedule.h"

/* A chain of stages under 1F1B; seconds of a micro-batch. */
typedef struct ons_slicer_stages {
    const double *forward, *backward; /* [stage] */
    double transfer;                  /* of an activation to the next stage, and of its gradient back */
    uint32_t stages, micro_batches;
} ons_slicer_stages;

/* Fewer stages win nothing; and a number of micro-batches to slice that is to be found. */
enum { ONS_SLICES_STAGES = 3 };
#define ONS_SLICES_AUTO UINT32_MAX

/* Counts the micro-batches to slice (algorithm 2): as many as the first stage begins before it would have to in order
 * to keep up with the first gradients that come back. 0 for fewer than three stages: what is won there, half a forward
 * part of one stage, is less than what halves cost (figure 10). */
uint32_t ons_slicer_count(const ons_slicer_stages *stages);

/* Halves the first micro-batches' forward parts in every stage whose device has come to no backward part. For
 * synchronous schedules; lists in `arena`, the rest is shared. */
ons_status *ons_schedule_slice(const ons_schedule *schedule, uint32_t micro_batches, ons_arena *arena,
                               ons_schedule *sliced);

#endif
