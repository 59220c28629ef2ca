/* What given cuts make of stages and devices: the times that a step is estimated from, and the bytes that all stages of
 * a device take together. Nothing is swapped or computed again.
 */
#ifndef ONSTAGE_PLANNER_PARTITION_CUTS_H
#define ONSTAGE_PLANNER_PARTITION_CUTS_H

#include "planner/partition/partition.h"
#include "planner/partition/step_estimate.h"

/* Nodes at which a cut's values, and their gradients, are made last and read first. */
typedef struct ons_cut_ends {
    uint32_t made_by, read_by, gradient_made_by, gradient_read_by;
} ons_cut_ends;

/* Finds them: O(what crosses the cut, and log of its readers). */
ons_cut_ends ons_cut_ends_find(const ons_workload *work, uint32_t cut);
/* Sets the slacks of what goes over the cut in front of the stage, as if all of it were made and read by the stages on
 * both sides. */
void ons_cut_slacks(const ons_planning_problem *problem, const ons_cut_ends *ends, uint32_t stage, uint32_t cut,
                    ons_step_stage *times);

/* Gives the times of stage `stage` of the cuts `first` (stages + 1 positions). `part_seconds`: what every forward and
 * backward part takes beside the work of its nodes. Of slacks only weight gradients of the stage's first node are
 * looked at. */
ons_step_stage ons_cuts_times(const ons_planning_problem *problem, const uint32_t *first, uint32_t stage,
                              double part_seconds);

/* Adds up the bytes of all stages that lie on a device: an upper bound, since not all of them need their most at once.
 * The problem has its schedule; `bytes` has an entry for each device. Returns those of the fullest. */
int64_t ons_cuts_bytes(const ons_planning_problem *problem, const uint32_t *first, int64_t *bytes);

/* Cuts where `before`, what all nodes in front of each position amount to (nodes + 1 rising entries), is nearest to its
 * share, from position `from` on; every stage has a node. */
void ons_cuts_even(const double *before, uint32_t nodes, uint32_t from, uint32_t stages, uint32_t *first);

/* Makes the `before` of ons_cuts_even: bytes of weights, each where it is used first, and beside them of activations
 * that backward parts read.
 */
ons_status *ons_cuts_weights_before(const ons_workload *work, bool activations, ons_arena *arena, double **before);
/* Makes the `before` of ons_cuts_even: seconds of forward and backward parts. */
ons_status *ons_cuts_seconds_before(const ons_workload *work, ons_arena *arena, double **before);

/* Counts how many nodes at the beginning need no backward part, as those of a model that is frozen. */
uint32_t ons_cuts_frozen(const ons_workload *work);

#endif
