/* Splits of one order of the nodes with which a step may be fast. The slowest stage alone does not tell:
 * with few micro-batches a step also consists of filling and draining the pipeline, in GPipe forward and backward parts
 * have a slowest stage each, and the first stage's update ends last; without end, a stage waits for micro-batches that
 * are on their way, as many as are in flight.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_STEP_SEARCH_H
#define ONSTAGE_PLANNER_SEARCH_STEP_SEARCH_H

#include "planner/partition/partition.h"

typedef struct ons_step_split {
    uint32_t *first; /* stages + 1 positions */
    double estimate; /* of a step's seconds: planner/partition/step_estimate.h */
} ons_step_split;

enum { ONS_STEP_SPLITS = 6 };

/* Feasible splits, all different, by rising estimate. */
typedef struct ons_step_splits {
    ons_step_split items[ONS_STEP_SPLITS];
    uint32_t count;
} ons_step_splits;

/* `start`, a feasible split or NULL, and those of the baselines that may be nearly as fast. In `arena`. */
ons_status *ons_step_gather(ons_stage_costs *costs, const ons_partition *start, ons_arena *arena,
                            ons_step_splits *splits);

/* Moves the cuts of a gathered split while that helps, within a budget of stages optimised and of estimates, not of
 * time: the same problem gives the same split. In `arena`. */
ons_status *ons_step_refine(ons_stage_costs *costs, const ons_step_split *from, ons_arena *arena,
                            ons_step_split *refined);

#endif
