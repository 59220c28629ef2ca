/* AutoPipe's simulator (Liu et al., CLUSTER 2022, section III-B): the step of a straight pipeline under 1F1B, and the
 * stage that it waits for.
 *
 *   stage 0   F F F   B F B F B F   B B    The critical path, the longest chain of parts that wait for each other, goes
 *   stage 1     F F B F B F B F B     B    down to a stage with the first micro-batches, stays on it while forward and
 *   stage 2       F B F B F B F B          backward alternate, and comes back up: that is the master stage. Of several
 *                                          longest paths, the one nearest the last stage counts (figure 4).
 */
#ifndef ONSTAGE_PLANNER_PARTITION_MASTER_STAGE_H
#define ONSTAGE_PLANNER_PARTITION_MASTER_STAGE_H

#include "planner/partition/partition.h"

/* Seconds of a micro-batch. */
typedef struct ons_master_stage_times {
    double forward, backward;
    double arrive, back; /* over the cut in front of the stage; links serve both ways at once */
} ons_master_stage_times;

/* Scratch memory for as many stages and micro-batches. */
typedef struct ons_master_stage_finder {
    uint32_t stages, micro_batches;
    double *forward, *backward;         /* [stage · micro-batches + micro-batch]: when the part ends */
    double *after_forward, *after_back; /* [stage · micro-batches + micro-batch]: the longest chain behind the part */
} ons_master_stage_finder;

ons_status *ons_master_stage_finder_make(uint32_t stages, uint32_t micro_batches, ons_arena *arena,
                                         ons_master_stage_finder *finder);
/* Gives the seconds of a step without its update, and the master stage. O(stages · micro-batches) */
double ons_master_stage_find(const ons_master_stage_finder *finder, const ons_master_stage_times *times,
                             uint32_t *master);

#endif
